/// Cuts the bytes of a peer into whole frames, however they arrive.
///
/// It keeps at most one incomplete frame, whose length was checked when its head arrived.
struct FrameReader {
    private var kept: [UInt8] = []

    /// The bytes of the frame that is incomplete so far.
    var count: Int { kept.count }

    /// Calls `body` with each whole frame.
    ///
    /// - `check`: judges a frame by its head, before its payload has arrived.
    mutating func read<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer,
        check: (FrameHead) throws(Failure) -> Void,
        _ body: (FrameHead, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = unsafe bytes
        if !kept.isEmpty {
            guard unsafe try complete(&rest, check) else { return }
            let frame = kept
            kept = []
            let head = unsafe frame.withUnsafeBytes { unsafe FrameHead($0) }
            var failure: Failure?
            unsafe frame.withUnsafeBytes { raw in
                do throws(Failure) {
                    try unsafe body(head, UnsafeRawBufferPointer(rebasing: raw.dropFirst(FrameHead.size)))
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
        while rest.count >= FrameHead.size {
            let head = unsafe FrameHead(rest)
            try check(head)
            let size = FrameHead.size + head.length
            guard rest.count >= size else { break }
            try unsafe body(head, UnsafeRawBufferPointer(rebasing: rest[FrameHead.size..<size]))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[size...])
        }
        unsafe kept.append(contentsOf: rest)
    }

    /// Adds bytes to the kept frame; false if it is still incomplete.
    private mutating func complete<Failure: Error>(
        _ rest: inout UnsafeRawBufferPointer,
        _ check: (FrameHead) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let hadHead = kept.count >= FrameHead.size
        unsafe take(FrameHead.size, from: &rest)
        guard kept.count >= FrameHead.size else { return false }
        let head = unsafe kept.withUnsafeBytes { unsafe FrameHead($0) }
        if !hadHead { try check(head) }
        unsafe take(FrameHead.size + head.length, from: &rest)
        return kept.count == FrameHead.size + head.length
    }

    private mutating func take(_ size: Int, from rest: inout UnsafeRawBufferPointer) {
        let count = min(max(0, size - kept.count), rest.count)
        unsafe kept.append(contentsOf: rest.prefix(count))
        unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}
