/// A way to submit many requests to one connection: ``HTTP2ClientConnection/withSubmissions(headers:extra:body:_:)``.
package struct HTTP2Submissions: ~Copyable {
    private let session: any ClientSession
    private let request: OutgoingRequest
    /// How many more there is room for.
    private var room: Int
    /// How many were submitted.
    private(set) var count = 0
    /// The last stream, if there is one.
    private(set) var last: Int32?

    init(session: any ClientSession, request: OutgoingRequest, room: Int) {
        self.session = session
        self.request = request
        self.room = room
    }

    /// Submits one request.
    ///
    /// - `tag`: returned with the response; the connection does not read it.
    /// - Returns: The stream, for ``HTTP2ClientConnection/cancel(_:)``; `nil` if there is no room or the connection
    ///   accepts no more requests.
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the path or an extra field is not allowed.
    package mutating func add(tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> HTTP2StreamID? {
        guard room > 0, session.acceptsRequests else { return nil }
        let stream = try session.submit(request, tag: tag, pathSuffix: pathSuffix)
        room -= 1
        count += 1
        last = stream
        return HTTP2StreamID(number: stream)
    }
}
