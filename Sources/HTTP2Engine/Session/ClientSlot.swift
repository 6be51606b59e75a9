/// One request of a client and what has come back for it.
///
/// Slots are reused with the memory of their fields and bodies; a slot's index is the stream's user data in the
/// library.
struct ClientSlot {
    private(set) var tag: UInt64 = 0
    /// 0 when no stream uses the slot.
    var stream: Int32 = 0
    /// Kept until the stream is over: the library holds pointers into them.
    private var headers: SharedHeaders?
    private var body: SharedBytes?
    private var bodySent = 0
    private(set) var status = 0
    private(set) var fields = HTTP2Fields()
    private(set) var received: [UInt8] = []
    /// The server has said that its answer is complete.
    var hasEnded = false
    /// The owner does not want to hear of the stream any more.
    var isCancelled = false
    /// The answer is larger than allowed.
    private(set) var isOverLimit = false

    mutating func begin(tag: UInt64, headers: SharedHeaders, body: SharedBytes?) {
        self.tag = tag
        self.headers = headers
        self.body = body
    }

    /// The stream is over; its answer stays until the slot is recycled.
    mutating func retire() {
        stream = 0
        headers = nil
        body = nil
    }

    /// Makes the slot ready for another stream. Its memory is reused unless somebody has kept the answer.
    mutating func recycle() {
        bodySent = 0
        hasEnded = false
        isCancelled = false
        isOverLimit = false
        clearResponse()
    }

    /// A header block begins: final headers after an interim answer, or trailers, which are kept with the fields.
    mutating func headersBegin() {
        if status < 200 { clearResponse() }
    }

    /// One field; false when there are too many bytes of them.
    mutating func header(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        limit: Int
    ) -> Bool {
        if unsafe name.first == UInt8(ascii: ":") {
            // The only pseudo-header of an answer; the library has checked that it has three digits.
            status = unsafe value.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
            return true
        }
        guard fields.byteCount + name.count + value.count <= limit else {
            isOverLimit = true
            return false
        }
        unsafe fields.append(name: name, value: value)
        return true
    }

    /// A piece of the answer's body; false when it is the one that makes it too large.
    mutating func data(_ chunk: UnsafeBufferPointer<UInt8>, limit: Int) -> Bool {
        guard !isOverLimit else { return true }
        guard received.count + chunk.count <= limit else {
            isOverLimit = true
            return false
        }
        unsafe received.append(contentsOf: chunk)
        return true
    }

    /// Copies the next piece of the request's body; a request without one has nothing left.
    mutating func readBody(into target: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let body else { return (0, true) }
        let count = unsafe body.copy(from: bodySent, into: target)
        bodySent += count
        return (count, bodySent == body.count)
    }

    /// The end of the stream, as its owner sees it; nil when it does not want to know.
    func outcome(code: UInt32, lastProcessed: Int32) -> ClientEvent? {
        if isOverLimit { return failure(.unusableResponse) }
        // A complete answer counts, even if the server has reset the rest of our request afterwards.
        if hasEnded, status >= 200, !isCancelled {
            return .responded(tag: tag, HTTP2Response(status: status, fields: fields, body: received))
        }
        if stream > lastProcessed { return failure(.notProcessed) }
        let code = HTTP2ErrorCode(rawValue: code)
        return failure(code == .refusedStream ? .refused : .reset(code))
    }

    /// A failure as the stream's owner hears of it; nil when it has cancelled.
    func failure(_ failure: HTTP2StreamFailure) -> ClientEvent? {
        isCancelled ? nil : .failed(tag: tag, failure: failure)
    }

    private mutating func clearResponse() {
        // Already clear when the first block of an answer begins, which is nearly always.
        guard status != 0 || fields.count > 0 || !received.isEmpty else { return }
        status = 0
        fields.removeAll()
        received.removeAll(keepingCapacity: true)
    }
}
