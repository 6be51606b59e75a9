/// The open streams of a client session and the events to report. The callbacks write it; the session reads it.
@safe
final class ClientStreams {
    enum Note {
        case settings(Int)
        case goAway(Int32, UInt32, [UInt8])
        case pong(UInt64)
        /// With the stream's number, because a request that was not sent is reported in both ways.
        case closed(slot: Int, stream: Int32, code: UInt32)
        case notSent(slot: Int, stream: Int32)
    }

    /// One slot per stream that is or was open. Callbacks read a slot several times per request. Manual memory avoids
    /// an array's checks for exclusive access, uniqueness and bounds.
    ///
    /// It moves only in ``begin(tag:headers:body:)``, which no callback calls.
    private(set) var slots: UnsafeMutableBufferPointer<ClientSlot>
    private var capacity = 64
    private var free: [Int] = []
    var notes: [Note] = []
    /// The smallest last stream in a GOAWAY of the server.
    var lastProcessed = Int32.max
    /// The library's error about the last frame that it refused. It may concern one stream only.
    var lastFault: String?
    /// Why the session has given up the connection.
    var violation: String?
    let maximumBody: Int
    let maximumHeaders: Int

    init(maximumBody: Int, maximumHeaders: Int) {
        self.maximumBody = maximumBody
        self.maximumHeaders = maximumHeaders
        unsafe slots = UnsafeMutableBufferPointer(start: .allocate(capacity: capacity), count: 0)
    }

    deinit {
        unsafe slots.deinitialize()
        unsafe slots.baseAddress?.deallocate()
    }

    /// The number of streams that have not ended.
    private(set) var open = 0

    func begin(tag: UInt64, headers: SharedHeaders, body: SharedBytes?) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
        } else {
            index = addSlot()
        }
        unsafe slots[index].begin(tag: tag, headers: headers, body: body)
        open += 1
        return index
    }

    private func addSlot() -> Int {
        let count = unsafe slots.count
        var base = unsafe slots.baseAddress
        if count == capacity {
            capacity *= 2
            let larger = UnsafeMutablePointer<ClientSlot>.allocate(capacity: capacity)
            unsafe slots.baseAddress.map { unsafe larger.moveInitialize(from: $0, count: count) }
            unsafe base?.deallocate()
            unsafe base = larger
        }
        unsafe slots = UnsafeMutableBufferPointer(start: base, count: count + 1)
        unsafe slots.initializeElement(at: count, to: ClientSlot())
        return count
    }

    /// Finds the slot of a stream that the library may no longer know. It is slow, so only for rare events.
    func search(stream: Int32) -> Int? {
        unsafe slots.firstIndex { $0.stream == stream }
    }

    /// Marks the stream as ended. Its response remains until the slot is recycled.
    func retire(_ index: Int) {
        unsafe slots[index].retire()
        open -= 1
    }

    func recycle(_ index: Int) {
        unsafe slots[index].recycle()
        free.append(index)
    }
}
