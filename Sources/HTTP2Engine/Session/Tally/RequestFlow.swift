/// One request on its way: what is left to send, what may still arrive, and both windows.
///
/// It lies beside the ``ClientSlot`` of the same index, which holds what the owner sees.
struct RequestFlow {
    enum Phase {
        /// Free, or ended and not reported so far.
        case ended
        /// Its header block is not encoded.
        case queued
        /// Open, without any header block from the server.
        case sent
        /// Open, and the server has begun its response.
        case answered
        /// A reset waits to be sent. What still arrives is ignored.
        case closing
    }

    var phase = Phase.ended
    var stream: Int32 = 0
    var extra: [HTTP2Header] = []
    /// The part of the path that only this request has.
    var pathSuffix: [UInt8] = []
    var hasBody = false
    /// Whether END_STREAM was sent.
    var hasSentAll = false
    /// Whether END_STREAM or a reset has arrived.
    var hasReceivedAll = false
    /// Whether the stream waits in the queue of bodies.
    var isInBodies = false
    /// How many bytes of body the server accepts. It may be negative (RFC 9113 §6.9.2).
    var window = 0
    /// Received bytes that no WINDOW_UPDATE has given back.
    var received = 0
    /// The increment of the WINDOW_UPDATE that waits; 0 if none does.
    var unsaidIncrement = 0
    var rules = ResponseRules()

    /// Begins a request; the memory of the last path is reused.
    mutating func begin(stream: Int32, request: OutgoingRequest, pathSuffix: Span<UInt8>) {
        phase = .queued
        self.stream = stream
        // A request that was cancelled before it left has kept its own. Two empty arrays need no reference counts.
        if !request.extra.isEmpty || !extra.isEmpty { extra = request.extra }
        self.pathSuffix.removeAll(keepingCapacity: true)
        unsafe pathSuffix.withUnsafeBufferPointer { unsafe self.pathSuffix.append(contentsOf: $0) }
        hasBody = request.hasBody
        hasSentAll = false
        hasReceivedAll = false
        isInBodies = false
        received = 0
        unsaidIncrement = 0
        rules = ResponseRules()
    }

    /// Whether the server's HEADERS and DATA belong to a stream that the server has ended.
    var isOpen: Bool { phase == .sent || phase == .answered || phase == .closing }
}

/// A stream in a queue. Its slot may have been reused in the meantime.
struct QueuedStream {
    let slot: Int
    let stream: Int32
}
