/// One request of a client and its response.
///
/// Slots are reused together with the memory of their fields and bodies. libnghttp2 stores a slot's index as the user
/// data of the stream.
struct ClientSlot {
    private(set) var tag: UInt64 = 0
    /// 0 if no stream uses the slot.
    var stream: Int32 = 0
    /// Retained until the stream has ended, because the library has pointers into them.
    private(set) var headers: SharedHeaders?
    private var body: SharedBytes?
    private var bodySent = 0
    private(set) var status = 0
    private(set) var fields = HTTP2Fields()
    private(set) var received: [UInt8] = []
    /// Whether the server has completed its response.
    var hasEnded = false
    /// Whether the owner has cancelled the stream.
    var isCancelled = false
    /// Whether the response exceeds a limit.
    private(set) var isOverLimit = false

    mutating func begin(tag: UInt64, headers: SharedHeaders, body: SharedBytes?) {
        self.tag = tag
        self.headers = headers
        self.body = body
    }

    /// Marks the stream as ended. Its response remains until the slot is recycled.
    mutating func retire() {
        stream = 0
        headers = nil
        body = nil
    }

    /// Prepares the slot for another stream. Its memory is reused unless someone still has the response.
    mutating func recycle() {
        bodySent = 0
        hasEnded = false
        isCancelled = false
        isOverLimit = false
        clearResponse()
    }

    /// A header block begins: final headers after an interim response, or trailers, which are added to the fields.
    mutating func headersBegin() {
        if status < 200 { clearResponse() }
    }

    /// Adds one field; false if the fields exceed the limit.
    mutating func header(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        limit: Int
    ) -> Bool {
        if unsafe name.first == UInt8(ascii: ":") {
            // `:status`, the only pseudo-header of a response. The library has checked that it has three digits.
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

    /// Adds a part of the response's body; false if the body exceeds the limit.
    mutating func data(_ chunk: UnsafeBufferPointer<UInt8>, limit: Int) -> Bool {
        guard !isOverLimit else { return true }
        guard received.count + chunk.count <= limit else {
            isOverLimit = true
            return false
        }
        unsafe received.append(contentsOf: chunk)
        return true
    }

    /// Copies the next part of the request's body. A request without a body has no part to copy.
    mutating func readBody(into target: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let body else { return (0, true) }
        let count = unsafe body.copy(from: bodySent, into: target)
        bodySent += count
        return (count, bodySent == body.count)
    }

    /// What the owner is told at the end of the stream.
    enum Outcome {
        case responded
        case failed(HTTP2StreamFailure)
    }

    func outcome(code: UInt32, lastProcessed: Int32) -> Outcome {
        if isOverLimit { return .failed(.unusableResponse) }
        // A complete response counts, even if the server has reset the rest of the request afterwards.
        if hasEnded, status >= 200, !isCancelled { return .responded }
        if stream > lastProcessed { return .failed(.notProcessed) }
        let code = HTTP2ErrorCode(rawValue: code)
        return .failed(code == .refusedStream ? .refused : .reset(code))
    }

    /// Moves the response out, which saves counting references.
    mutating func takeResponse() -> HTTP2Response {
        var taken = HTTP2Fields()
        var body: [UInt8] = []
        swap(&taken, &fields)
        swap(&body, &received)
        return HTTP2Response(status: status, fields: taken, body: body)
    }

    /// Takes a response back for its memory. ``recycle()`` clears it.
    mutating func giveBack(_ response: consuming HTTP2Response) {
        fields = response.fields
        received = response.body
    }

    private mutating func clearResponse() {
        // The first header block of a response finds the slot clear, which is nearly always the case.
        guard status != 0 || fields.count > 0 || !received.isEmpty else { return }
        status = 0
        fields.removeAll()
        received.removeAll(keepingCapacity: true)
    }
}
