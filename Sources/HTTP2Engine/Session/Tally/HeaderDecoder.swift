import CNGHTTP2

/// Decodes the header blocks of a server by libnghttp2's HPACK decoder.
@safe
final class HeaderDecoder {
    private let raw: OpaquePointer
    /// The library keeps a pointer to its allocator, so this copy lives as long as the decoder.
    private let memory: UnsafeMutablePointer<nghttp2_mem>?

    /// - `memory`: an allocator that counts, for tests; `nil` is the library's own.
    init(memory: UnsafeMutablePointer<nghttp2_mem>?) throws(HTTP2Error) {
        let copy = unsafe memory.map { memory in
            let copy = UnsafeMutablePointer<nghttp2_mem>.allocate(capacity: 1)
            unsafe copy.initialize(to: memory.pointee)
            return unsafe copy
        }
        var raw: OpaquePointer?
        guard unsafe nghttp2_hd_inflate_new2(&raw, copy) == 0, let raw = unsafe raw else {
            unsafe copy?.deallocate()
            throw HTTP2Error(.violation, "no memory for an HPACK decoder")
        }
        unsafe self.raw = raw
        unsafe self.memory = copy
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(raw)
        unsafe memory?.deallocate()
    }

    /// Decodes one part of a header block. False if it is damaged. Then the decoder is unusable.
    ///
    /// - `isLast`: whether the block ends with this part.
    /// - `field`: receives each field. Name and value are valid during the call.
    func decode(
        _ part: UnsafeRawBufferPointer,
        isLast: Bool,
        field: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void
    ) -> Bool {
        // The library takes no null pointer, even for no bytes.
        let empty: StaticString = ""
        var start = unsafe part.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty.utf8Start
        var rest = part.count
        while true {
            var nv = unsafe nghttp2_nv()
            var flags: Int32 = 0
            let taken = unsafe nghttp2_hd_inflate_hd2(raw, &nv, &flags, start, rest, isLast ? 1 : 0)
            guard taken >= 0 else { return false }
            unsafe start += taken
            rest -= taken
            let emits = UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0
            if emits {
                unsafe field(
                    UnsafeBufferPointer(start: nv.name, count: nv.namelen),
                    UnsafeBufferPointer(start: nv.value, count: nv.valuelen)
                )
            }
            if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
                // It only resets the decoder for the next block, and never fails.
                _ = unsafe nghttp2_hd_inflate_end_headers(raw)
                return true
            }
            if !emits, rest == 0 { return true }
        }
    }
}
