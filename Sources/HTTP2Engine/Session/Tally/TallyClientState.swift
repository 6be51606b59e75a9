/// What ``TallyClientSession`` knows, and what it does. It belongs to one owner and never calls back.
///
/// - `receive` reads frames (`+Receiving`, `+Responses`, `+Control`).
/// - `nextOutput` writes frames (`+Sending`).
@safe
struct TallyClientState: ~Copyable {
    /// The most acknowledgements that wait for a peer that does not read.
    static let maximumAcknowledgements = 1000
    /// The most refused pushes that wait for such a peer.
    static let maximumRefusals = 5000
    /// The window of the whole connection. 16 full answers of the largest size wait in it.
    static let connectionWindow = 1 << 20
    /// The window of each stream: the protocol's default, which no SETTINGS of ours changes.
    static let streamWindow = 65_535

    let streams: UnsafeMutablePointer<ClientStreams>
    /// One for each slot of ``streams``.
    var flows = Slots<RequestFlow>()
    var table = StreamTable()
    let decoder: HeaderDecoder
    var reader = FrameReader()
    var settings = ServerSettings()
    var encoder = HeaderEncoder()

    // What waits to be sent, in the order in which it is sent.
    /// The preface, SETTINGS, acknowledgements, pings, our GOAWAY.
    var control = OutputBuffer(capacity: 256)
    /// Acknowledgements among ``control``.
    var acknowledgements = 0
    /// Resets of pushed streams among ``control``.
    var refusals = 0
    var resets: [(stream: QueuedStream, code: HTTP2ErrorCode)] = []
    /// The increment of the connection's window that waits; 0 if none does.
    var unsaidIncrement = 0
    var windowUpdates: [QueuedStream] = []
    /// Streams whose body is not sent and whose window is open.
    var bodies = Fifo<QueuedStream>()
    var requests = Fifo<QueuedStream>()
    var output = OutputBuffer(capacity: 48 * 1024)

    /// How many bytes of bodies the server accepts on all streams together.
    var window = 65_535
    /// Received bytes that no WINDOW_UPDATE of the connection has given back.
    var received = 0
    /// Streams that the server knows as open.
    var activeStreams = 0
    /// The stream whose header block is incomplete, and what is known about the block.
    var block: HeaderBlock?
    /// Whether the server's SETTINGS have arrived, which must be its first frame.
    var hasSettings = false
    /// Our SETTINGS that the server has not acknowledged.
    var unacknowledgedSettings = 1
    /// The last stream whose header block was encoded.
    var lastSent: Int32 = 0
    /// The last stream that the server has promised.
    var lastPromised: Int32 = 0
    private var nextStream: UInt32
    var goAwaySent = false
    var goAwayReceived = false
    /// The fault that has ended the session. Its GOAWAY is the last frame.
    var fault: (code: HTTP2ErrorCode, isSaid: Bool)?

    init(streams: UnsafeMutablePointer<ClientStreams>, decoder: HeaderDecoder, firstStream: Int32) {
        unsafe self.streams = streams
        self.decoder = decoder
        nextStream = UInt32(firstStream)
        control.append(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        control.append(FrameHead(type: .settings, stream: 0, length: 12))
        control.append(number: UInt16(2))  // ENABLE_PUSH
        control.append(number: UInt32(0))
        control.append(number: UInt16(6))  // MAX_HEADER_LIST_SIZE
        control.append(number: unsafe UInt32(clamping: streams.pointee.maximumHeaders))
        control.appendWindowUpdate(stream: 0, Self.connectionWindow - 65_535)
    }

    var acceptsRequests: Bool {
        !goAwaySent && !goAwayReceived && fault == nil && !hasUsedUpNumbers
    }

    var hasUsedUpNumbers: Bool { nextStream > UInt32(Int32.max) }

    var isFinished: Bool { !wantsInput && !hasOutput }

    /// Whether frames from the server can still matter.
    var wantsInput: Bool {
        guard fault == nil else { return false }
        return activeStreams > 0 || !(goAwaySent || goAwayReceived)
    }

    private var hasOutput: Bool {
        if let fault { return !fault.isSaid || control.count > 0 }
        return control.count > 0 || !resets.isEmpty
    }

    mutating func submit(_ request: OutgoingRequest, tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> Int32 {
        guard !hasUsedUpNumbers else { throw HTTP2Error(.lost, "stream numbers are used up") }
        try request.headers.checkPath(suffix: pathSuffix)
        for field in request.extra { try HeaderRules.check(field) }
        let slot = unsafe streams.pointee.begin(tag: tag, headers: request.headers, body: request.body)
        let stream = Int32(nextStream)
        nextStream += 2
        unsafe streams.pointee.slots[slot].stream = stream
        if slot == flows.count { flows.append(RequestFlow()) }
        flows[slot].begin(stream: stream, request: request, pathSuffix: pathSuffix)
        table.insert(stream, slot: slot)
        requests.append(QueuedStream(slot: slot, stream: stream))
        return stream
    }

    mutating func cancel(stream: Int32) {
        guard let slot = table.slot(stream) else { return }
        unsafe streams.pointee.slots[slot].isCancelled = true
        reset(slot, .cancel)
    }

    mutating func goAway() {
        guard !goAwaySent, fault == nil else { return }
        goAwaySent = true
        control.appendGoAway(.noError)
        withdrawRequests()
    }

    /// Bytes that a peer can make the session keep, beside the responses in ``streams``.
    var keptBytes: Int { control.count + reader.count + output.count + 16 * (resets.count + windowUpdates.count) }

    // MARK: The end of streams

    /// Queues RST_STREAM. The stream ends when it is encoded. A request that has not left ends at once.
    mutating func reset(_ slot: Int, _ code: HTTP2ErrorCode) {
        let stream = QueuedStream(slot: slot, stream: flows[slot].stream)
        switch flows[slot].phase {
        case .ended, .closing: break
        case .queued: withdraw(stream)
        case .sent, .answered:
            flows[slot].phase = .closing
            resets.append((stream, code))
        }
    }

    /// Ends a stream that the server knows.
    mutating func close(_ slot: Int, _ code: HTTP2ErrorCode) {
        let stream = flows[slot].stream
        flows[slot].phase = .ended
        table.remove(stream)
        activeStreams -= 1
        unsafe streams.pointee.notes.append(.closed(slot: slot, stream: stream, code: code.rawValue))
    }

    /// Gives back all requests that have not left.
    mutating func withdrawRequests() {
        while let next = requests.first {
            requests.removeFirst()
            withdraw(next)
        }
    }

    private mutating func withdraw(_ queued: QueuedStream) {
        let slot = queued.slot
        guard flows[slot].stream == queued.stream, flows[slot].phase == .queued else { return }
        flows[slot].phase = .ended
        table.remove(queued.stream)
        unsafe streams.pointee.notes.append(.notSent(slot: slot, stream: queued.stream))
    }
}
