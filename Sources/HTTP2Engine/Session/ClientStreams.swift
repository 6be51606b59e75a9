/// The open streams of a client session and the events to report. The session writes it.
///
/// A session has it at a fixed address (``make(maximumBody:maximumHeaders:)``): libnghttp2's callbacks find it there,
/// and the owner of the session may submit and cancel while it takes events.
struct ClientStreams: ~Copyable {
    enum Note {
        case settings(Int)
        case goAway(Int32, UInt32, [UInt8])
        case pong(UInt64)
        /// With the stream's number, because a request that was not sent is reported in both ways.
        case closed(slot: Int, stream: Int32, code: UInt32)
        case notSent(slot: Int, stream: Int32)
    }

    /// One slot per stream that is or was open.
    var slots = Slots<ClientSlot>()
    private var free: [Int] = []
    var notes: [Note] = []
    /// The last stream whose HEADERS were encoded. Only libnghttp2's callbacks write it.
    var lastEncoded: Int32 = 0
    /// The smallest last stream in a GOAWAY of the server.
    var lastProcessed = Int32.max
    /// The library's error about the last frame that it refused. It may concern one stream only.
    var lastFault: String?
    /// Why the session has given up the connection.
    var violation: String?
    let maximumBody: Int
    let maximumHeaders: Int
    /// The number of streams that have not ended.
    private(set) var open = 0

    private init(maximumBody: Int, maximumHeaders: Int) {
        self.maximumBody = maximumBody
        self.maximumHeaders = maximumHeaders
    }

    /// The streams of a new session, which deinitializes and deallocates them at its end.
    static func make(maximumBody: Int, maximumHeaders: Int) -> UnsafeMutablePointer<ClientStreams> {
        let streams = UnsafeMutablePointer<ClientStreams>.allocate(capacity: 1)
        unsafe streams.initialize(to: ClientStreams(maximumBody: maximumBody, maximumHeaders: maximumHeaders))
        return unsafe streams
    }

    mutating func begin(tag: UInt64, headers: SharedHeaders, body: SharedBytes?) -> Int {
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

    /// Finds the slot of a stream that the library may no longer know. It is slow, so only for rare events.
    func search(stream: Int32) -> Int? {
        slots.indices.first { slots[$0].stream == stream }
    }

    /// Marks the stream as ended. Its response remains until the slot is recycled.
    mutating func retire(_ index: Int) {
        slots[index].retire()
        open -= 1
    }

    mutating func recycle(_ index: Int) {
        slots[index].recycle()
        free.append(index)
    }

    /// Bytes of responses that are kept for the owner.
    var keptBytes: Int { slots.indices.reduce(0) { $0 + slots[$1].received.count + slots[$1].fields.byteCount } }
}

/// Events. The owner may change the streams during each, so nothing is borrowed meanwhile.
extension UnsafeMutablePointer<ClientStreams> {
    /// Delivers the notes, in order: responses to `responded`, all else to `body`. Both may submit and cancel.
    ///
    /// - `withdraw`: gives back the requests that are not encoded, because the server accepts none any more. It adds
    ///   notes.
    /// - Returns: Whether a stream has ended, also one whose end is not delivered.
    func takeEvents(
        responded: (UInt64, HTTP2Response) -> Void,
        _ body: (ClientEvent) -> Void,
        withdraw: () -> Void
    ) -> Bool {
        var index = 0
        var ended = false
        // Handlers may submit during the loop, which may add notes. None is removed meanwhile.
        while unsafe index < pointee.notes.count {
            switch unsafe pointee.notes[index] {
            case .settings(let limit):
                if limit == 0 { withdraw() }
                body(.settings(maximumConcurrentStreams: limit))
            case .goAway(let last, let code, let data):
                body(.goAway(lastStreamID: last, code: HTTP2ErrorCode(rawValue: code), debugData: data))
            case .pong(let number): body(.pong(number))
            case .closed(let slot, let stream, let code):
                guard unsafe pointee.slots[slot].stream == stream else { break }
                ended = true
                let last = unsafe pointee.lastProcessed
                switch unsafe pointee.slots[slot].outcome(code: code, lastProcessed: last) {
                case .responded: unsafe hand(slot, to: responded)
                case .failed(let failure): unsafe fail(slot, failure, body)
                }
            case .notSent(let slot, let stream):
                guard unsafe pointee.slots[slot].stream == stream else { break }
                ended = true
                unsafe fail(slot, .notProcessed, body)
            }
            index += 1
        }
        unsafe pointee.notes.removeAll(keepingCapacity: true)
        return ended
    }

    /// Ends every open stream, oldest first, and delivers each as ``ClientEvent/failed(tag:failure:)``.
    ///
    /// - `lastWritten`: streams above this never left the machine.
    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void) {
        let open = unsafe pointee.slots.indices.map { unsafe (slot: $0, stream: pointee.slots[$0].stream) }
        for (slot, stream) in open.filter({ $0.stream != 0 }).sorted(by: { $0.stream < $1.stream }) {
            let never = unsafe stream > lastWritten || stream > pointee.lastProcessed
            unsafe fail(slot, never ? .notProcessed : .connectionLost, body)
        }
    }

    // The stream is removed from the count before its owner is called, so that the owner sees the free room.

    /// Delivers a response. The slot gets its memory back, unless someone keeps the response.
    private func hand(_ slot: Int, to responded: (UInt64, HTTP2Response) -> Void) {
        let tag = unsafe pointee.slots[slot].tag
        let response = unsafe pointee.slots[slot].takeResponse()
        unsafe pointee.retire(slot)
        responded(tag, response)
        unsafe pointee.slots[slot].giveBack(response)
        unsafe pointee.recycle(slot)
    }

    /// Delivers a failure, unless the owner has cancelled the stream.
    private func fail(_ slot: Int, _ failure: HTTP2StreamFailure, _ body: (ClientEvent) -> Void) {
        let tag = unsafe pointee.slots[slot].tag
        let isCancelled = unsafe pointee.slots[slot].isCancelled
        unsafe pointee.retire(slot)
        if !isCancelled { body(.failed(tag: tag, failure: failure)) }
        unsafe pointee.recycle(slot)
    }
}

/// What a session keeps for its owner; for tests of its bounds.
struct KeptResponses {
    let slots: Int
    let bytes: Int

    init(_ streams: UnsafeMutablePointer<ClientStreams>) {
        slots = unsafe streams.pointee.slots.count
        bytes = unsafe streams.pointee.keptBytes
    }
}
