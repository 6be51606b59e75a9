import HTTP2TestSupport

@testable import HTTP2Engine

/// A client's and a server's session with nothing between them.
final class MemoryPair {
    let client: any ClientSession
    let server: NGHTTP2ServerSession
    var events: [SessionEvent] = []
    var requests: [HTTP2Request] = []

    init(limit: Int = 100, maximumBody: Int = 1 << 24, firstStream: Int32 = 1) throws {
        client = try FrameSessions.client(
            BothSessions.implementation,
            maximumBody: maximumBody,
            maximumHeaders: 4096,
            firstStream: firstStream
        )
        server = try NGHTTP2ServerSession(
            maximumConcurrentStreams: limit,
            maximumBody: maximumBody,
            maximumHeaders: 4096
        )
        try pump()
        events = []
    }

    /// Moves bytes until both are silent, and collects what happened.
    func pump() throws {
        var moved = true
        while moved {
            moved = false
            while let bytes = try client.nextOutput() {
                try server.receive(bytes)
                moved = true
            }
            while let bytes = try server.nextOutput() {
                try client.receive(bytes)
                moved = true
            }
        }
        server.takeRequests { requests.append($0) }
        client.takeEvents { events.append($0) }
    }

    @discardableResult
    func submit(
        _ tag: UInt64,
        path: String = "/",
        headers: SharedHeaders? = nil,
        body: [UInt8] = []
    ) throws -> Int32 {
        let headers = try headers ?? SharedHeaders(authority: "localhost", fields: [])
        let request = OutgoingRequest(headers: headers, body: body.isEmpty ? nil : SharedBytes(body))
        return try client.submit(request, tag: tag, pathSuffix: Array(path.utf8).span)
    }

    var failures: [UInt64: HTTP2StreamFailure] {
        var failures: [UInt64: HTTP2StreamFailure] = [:]
        for case .failed(let tag, let failure) in events { failures[tag] = failure }
        return failures
    }

    var responses: [UInt64: HTTP2Response] {
        var responses: [UInt64: HTTP2Response] = [:]
        for case .responded(let tag, let response) in events { responses[tag] = response }
        return responses
    }
}
