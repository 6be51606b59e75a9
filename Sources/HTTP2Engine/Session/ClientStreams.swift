/// What a client's session knows of its open streams, and what it has to tell. Written by callbacks, read by the
/// session.
@safe
final class ClientStreams {
    enum Note {
        case settings(Int)
        case goAway(Int32, UInt32, [UInt8])
        case pong(UInt64)
        /// With the stream's number, because a request that could not be sent is reported in both ways.
        case closed(slot: Int, stream: Int32, code: UInt32)
        case notSent(slot: Int, stream: Int32)
    }

    /// One per stream that is or was open, in memory of our own: callbacks come here several times a request, and an
    /// array in an object would be checked for exclusive access, uniqueness and bounds each time.
    ///
    /// Moves in ``begin(tag:headers:body:)`` only, which no callback calls.
    private(set) var slots: UnsafeMutableBufferPointer<ClientSlot>
    private var capacity = 64
    private var free: [Int] = []
    var notes: [Note] = []
    /// The smallest last stream that a GOAWAY of the server named.
    var lastProcessed = Int32.max
    /// What the library found wrong with the last frame that it did not take; may concern one stream alone.
    var lastFault: String?
    /// Why the session has given the connection up.
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

    /// Streams that are not over.
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

    /// The slot of a stream that the library may not know any more; long, so only for rare events.
    func search(stream: Int32) -> Int? {
        unsafe slots.firstIndex { $0.stream == stream }
    }

    /// The stream is over; its answer stays where it is until the slot is recycled.
    func retire(_ index: Int) {
        unsafe slots[index].retire()
        open -= 1
    }

    func recycle(_ index: Int) {
        unsafe slots[index].recycle()
        free.append(index)
    }
}
