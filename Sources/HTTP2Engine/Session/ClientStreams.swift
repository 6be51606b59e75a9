/// What a client's session knows of its open streams, and what it has to tell. Written by callbacks, read by the session.
final class ClientStreams {
    enum Note {
        case settings(Int)
        case goAway(Int32, UInt32, [UInt8])
        case pong(UInt64)
        /// With the stream's number, because a request that could not be sent is reported in both ways.
        case closed(slot: Int, stream: Int32, code: UInt32)
        case notSent(slot: Int, stream: Int32)
    }

    var slots: [ClientSlot] = []
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
    }

    /// Streams that are not over.
    private(set) var open = 0

    func begin(tag: UInt64, headers: SharedHeaders, body: SharedBytes?) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
        } else {
            index = slots.count
            slots.append(ClientSlot())
        }
        slots[index].begin(tag: tag, headers: headers, body: body)
        open += 1
        return index
    }

    /// The stream is over; its answer stays where it is until the slot is recycled.
    func retire(_ index: Int) {
        slots[index].retire()
        open -= 1
    }

    func recycle(_ index: Int) {
        slots[index].recycle()
        free.append(index)
    }
}
