/// The open streams of a client session and the events to report. The session writes it.
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

    // MARK: Events

    /// Delivers the notes as events, in order. `body` may submit and cancel.
    ///
    /// - `withdraw`: gives back the requests that are not encoded, because the server accepts none any more. It adds
    ///   notes.
    /// - Returns: Whether a stream has ended, also one whose end is not delivered.
    func takeEvents(_ body: (ClientEvent) -> Void, withdraw: () -> Void) -> Bool {
        var index = 0
        var ended = false
        // Handlers may submit during the loop, which may add notes. None is removed meanwhile.
        while index < notes.count {
            switch notes[index] {
            case .settings(let limit):
                if limit == 0 { withdraw() }
                body(.settings(maximumConcurrentStreams: limit))
            case .goAway(let last, let code, let data):
                body(.goAway(lastStreamID: last, code: HTTP2ErrorCode(rawValue: code), debugData: data))
            case .pong(let number): body(.pong(number))
            case .closed(let slot, let stream, let code):
                guard unsafe slots[slot].stream == stream else { break }
                let last = lastProcessed
                ended = true
                finish(slot, body) { unsafe slots[slot].outcome(code: code, lastProcessed: last) }
            case .notSent(let slot, let stream):
                guard unsafe slots[slot].stream == stream else { break }
                ended = true
                finish(slot, body) { unsafe slots[slot].failure(.notProcessed) }
            }
            index += 1
        }
        notes.removeAll(keepingCapacity: true)
        return ended
    }

    /// Ends every open stream, oldest first, and delivers each as ``ClientEvent/failed(tag:failure:)``.
    ///
    /// - `lastWritten`: streams above this never left the machine.
    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void) {
        let open = unsafe slots.indices.map { unsafe (slot: $0, stream: slots[$0].stream) }
        for (slot, stream) in open.filter({ $0.stream != 0 }).sorted(by: { $0.stream < $1.stream }) {
            let never = stream > lastWritten || stream > lastProcessed
            finish(slot, body) { unsafe slots[slot].failure(never ? .notProcessed : .connectionLost) }
        }
    }

    /// Removes the stream from the count before its owner is called, so that the owner sees the free room.
    ///
    /// The event must be released before the slot is recycled. While it holds the response, the slot's memory cannot be
    /// reused.
    private func finish(_ slot: Int, _ body: (ClientEvent) -> Void, event: () -> ClientEvent?) {
        let ended = event()
        retire(slot)
        Self.hand(ended, to: body)
        recycle(slot)
    }

    private static func hand(_ event: consuming ClientEvent?, to body: (ClientEvent) -> Void) {
        if let event { body(event) }
    }
}
