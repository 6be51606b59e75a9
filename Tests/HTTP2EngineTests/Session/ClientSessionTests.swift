import HTTP2TestSupport
import Testing

@testable import HTTP2Engine

@Suite("The client's session, in memory", .bothSessions)
struct ClientSessionTests {
    @Test("the shared fields of interleaved batches stay with their requests")
    func interleavedBatches() throws {
        let pair = try MemoryPair()
        let batches = try ["red", "blue"].map { color in
            try SharedHeaders(authority: color, pathPrefix: "/\(color)/", fields: [HTTP2Header("color", color)])
        }
        for tag in 0..<20 as Range<UInt64> { try pair.submit(tag, path: "\(tag)", headers: batches[Int(tag % 2)]) }
        try pair.pump()
        #expect(pair.requests.count == 20)
        for (number, request) in pair.requests.enumerated() {
            let color = number % 2 == 0 ? "red" : "blue"
            #expect(request.path == "/\(color)/\(number)")
            #expect(request.authority == color)
            #expect(request.fields["color"] == color)
        }
    }

    @Test("paths of any length arrive whole, whichever prefix and whichever further fields they have")
    func pathLengths() throws {
        let pair = try MemoryPair(limit: 1000)
        let prefixes = ["", "/3/device/", "/" + String(repeating: "p", count: 300)]
        let shared = try prefixes.map { try SharedHeaders(authority: "a", pathPrefix: $0, fields: []) }
        var wanted: [String] = []
        for (number, length) in [1, 512, 3, 160, 700, 0, 64, 1500, 160].enumerated() {
            for (prefix, headers) in zip(prefixes, shared) where length > 0 || !prefix.isEmpty {
                let suffix = (prefix.isEmpty ? "/" : "0") + String(repeating: "\(number)", count: max(0, length - 1))
                let request = OutgoingRequest(
                    headers: headers,
                    extra: length % 2 == 0 ? [] : [HTTP2Header("length", "\(length)")],
                    body: nil
                )
                _ = try pair.client.submit(request, tag: UInt64(wanted.count), pathSuffix: Array(suffix.utf8).span)
                wanted.append(prefix + suffix)
            }
        }
        try pair.pump()
        #expect(pair.requests.map(\.path) == wanted)
        #expect(pair.requests.allSatisfy { $0.authority == "a" })
    }

    @Test("shared fields and bodies live until their request has left, even if nobody else keeps them")
    func lifetime() throws {
        let pair = try MemoryPair()
        for tag in 0..<50 as Range<UInt64> {
            let headers = try SharedHeaders(authority: "host-\(tag)", fields: [HTTP2Header("number", "\(tag)")])
            try pair.submit(tag, headers: headers, body: Array("body \(tag)".utf8))
        }
        try pair.pump()
        #expect(pair.requests.map { $0.fields["number"] } == (0..<50).map { "\($0)" })
        #expect(pair.requests.map { String(decoding: $0.body, as: UTF8.self) } == (0..<50).map { "body \($0)" })
    }

    @Test("interim answers are skipped and trailers are kept with the fields")
    func interimAndTrailers() throws {
        let client = try FrameSessions.client(BothSessions.implementation, maximumBody: 100, maximumHeaders: 1000)
        let request = OutgoingRequest(headers: try SharedHeaders(authority: "a", fields: []), body: nil)
        let stream = UInt32(try client.submit(request, tag: 9, pathSuffix: Array("/".utf8).span))
        while try client.nextOutput() != nil {}
        let bytes =
            RawFrame.settings()
            + RawFrame.headers(
                stream: stream,
                ends: false,
                RawFrame.field(":status", "103") + RawFrame.field("early", "1")
            )
            + RawFrame.headers(
                stream: stream,
                ends: false,
                RawFrame.field(":status", "200") + RawFrame.field("real", "1")
            )
            + RawFrame.data(stream: stream, ends: false, Array("ok".utf8))
            + RawFrame.headers(stream: stream, ends: true, RawFrame.field("trailer", "1"))
        try bytes.withUnsafeBytes { try client.receive($0) }
        var responses: [HTTP2Response] = []
        client.takeEvents { if case .responded(9, let response) = $0 { responses.append(response) } }
        let response = try #require(responses.first)
        #expect(response.status == 200)
        #expect(response.fields.all == [HTTP2Header("real", "1"), HTTP2Header("trailer", "1")])
        #expect(response.body == Array("ok".utf8))
    }

    @Test("a stream closed with NO_ERROR before its answer was complete has failed")
    func truncatedAnswer() throws {
        let client = try FrameSessions.client(BothSessions.implementation, maximumBody: 100, maximumHeaders: 1000)
        let request = OutgoingRequest(headers: try SharedHeaders(authority: "a", fields: []), body: nil)
        let stream = UInt32(try client.submit(request, tag: 9, pathSuffix: Array("/".utf8).span))
        while try client.nextOutput() != nil {}
        let bytes =
            RawFrame.settings() + RawFrame.headers(stream: stream, ends: false, [0x88])
            + RawFrame.reset(stream: stream, code: 0)
        try bytes.withUnsafeBytes { try client.receive($0) }
        var failures: [HTTP2StreamFailure] = []
        client.takeEvents { if case .failed(9, let failure) = $0 { failures.append(failure) } }
        #expect(failures == [.reset(.noError)])
    }

    @Test("a complete answer counts although the server then resets the rest of the request")
    func earlyAnswer() throws {
        let client = try FrameSessions.client(BothSessions.implementation, maximumBody: 100, maximumHeaders: 1000)
        let body = SharedBytes([UInt8](repeating: 0, count: 200_000))
        let request = OutgoingRequest(headers: try SharedHeaders(authority: "a", fields: []), body: body)
        let stream = UInt32(try client.submit(request, tag: 9, pathSuffix: Array("/".utf8).span))
        while try client.nextOutput() != nil {}
        let bytes =
            RawFrame.settings() + RawFrame.headers(stream: stream, ends: true, RawFrame.field(":status", "413"))
            + RawFrame.reset(stream: stream, code: 0)
        try bytes.withUnsafeBytes { try client.receive($0) }
        var statuses: [Int] = []
        client.takeEvents { if case .responded(9, let response) = $0 { statuses.append(response.status) } }
        #expect(statuses == [413])
    }

    @Test("a request that is still queued when the server goes away is not processed, and reported once")
    func queuedAtGoAway() throws {
        let pair = try MemoryPair()
        try pair.submit(1)
        // The GOAWAY arrives before the request is encoded.
        try RawFrame.goAway(last: 0, code: 0).withUnsafeBytes { try pair.client.receive($0) }
        #expect(!pair.client.acceptsRequests)
        while try pair.client.nextOutput() != nil {}
        var events: [SessionEvent] = []
        pair.client.takeEvents { events.append($0) }
        let failures = events.compactMap { event -> HTTP2StreamFailure? in
            if case .failed(1, let failure) = event { failure } else { nil }
        }
        #expect(failures == [.notProcessed])
        #expect(pair.client.openStreams == 0)
    }

    @Test("a request that is still queued when the server takes none any more is given back, and never leaves")
    func queuedAtLimitOfZero() throws {
        let pair = try MemoryPair()
        try pair.submit(1)
        while try pair.client.nextOutput() != nil {}
        try pair.submit(2)
        // The new limit arrives before the second is encoded.
        for limit in [0, 10] as [UInt32] {
            try RawFrame.settings([(3, limit)]).withUnsafeBytes { try pair.client.receive($0) }
            var failed: [UInt64] = []
            pair.client.takeEvents { if case .failed(let tag, .notProcessed) = $0 { failed.append(tag) } }
            #expect(failed == (limit == 0 ? [2] : []))
            #expect(pair.client.openStreams == 1)
        }
        var output: [UInt8] = []
        while let bytes = try pair.client.nextOutput() { output += bytes }
        #expect(!RawFrame.read(output).contains { $0.type == 1 })
    }

    @Test("a request that is cancelled before it was encoded never leaves")
    func cancelledInQueue() throws {
        let pair = try MemoryPair()
        let first = try pair.submit(1, path: "/one")
        try pair.submit(2, path: "/two")
        pair.client.cancel(stream: first)
        try pair.pump()
        #expect(pair.requests.map(\.path) == ["/two"])
        #expect(pair.events.isEmpty)
        #expect(pair.client.openStreams == 1)
    }

    @Test("the further fields of a request that was cancelled before it was encoded go with no later one")
    func cancelledFields() throws {
        let pair = try MemoryPair()
        let headers = try SharedHeaders(authority: "localhost", fields: [])
        let cancelled = OutgoingRequest(headers: headers, extra: [HTTP2Header("own", "1")], body: nil)
        let stream = try pair.client.submit(cancelled, tag: 1, pathSuffix: Array("/1".utf8).span)
        pair.client.cancel(stream: stream)
        try pair.pump()
        for tag in 2..<10 as Range<UInt64> { try pair.submit(tag, path: "/\(tag)") }
        try pair.pump()
        #expect(pair.requests.map(\.path) == (2..<10).map { "/\($0)" })
        #expect(pair.requests.allSatisfy { $0.fields["own"] == nil })
    }

    @Test("streams that the server refuses because its new limit had not arrived are told apart")
    func surplus() throws {
        let pair = try MemoryPair(limit: 10)
        pair.server.setMaximumConcurrentStreams(2)
        while try pair.server.nextOutput() != nil {}
        for tag in 0..<5 as Range<UInt64> { try pair.submit(tag) }
        try pair.pump()
        #expect(pair.requests.count == 2)
        #expect(pair.failures == [2: .refused, 3: .refused, 4: .refused])
    }

    @Test("when stream numbers run out, no more requests are accepted")
    func exhausted() throws {
        let pair = try MemoryPair(firstStream: Int32.max - 2)
        #expect(pair.client.acceptsRequests)
        try pair.submit(1)
        #expect(pair.client.acceptsRequests)
        try pair.submit(2)
        #expect(!pair.client.acceptsRequests)
        #expect(throws: HTTP2Error.self) { try pair.submit(3) }
        #expect(pair.client.openStreams == 2)
    }

    @Test("open requests that fail with the connection are split by what was written")
    func connectionEnds() throws {
        let pair = try MemoryPair()
        for tag in 1...4 as ClosedRange<UInt64> { try pair.submit(tag) }
        pair.client.failOpenStreams(lastWritten: 3) { pair.events.append(SessionEvent($0)) }
        #expect(
            pair.failures == [1: .connectionLost, 2: .connectionLost, 3: .notProcessed, 4: .notProcessed]
        )
        #expect(pair.client.openStreams == 0)
    }

    @Test(
        "paths with blanks, control characters or without a slash are refused",
        arguments: ["", "x", "/a b", "/\n", "/ä"]
    )
    func badPath(path: String) throws {
        let pair = try MemoryPair()
        let error = #expect(throws: HTTP2Error.self) { try pair.submit(1, path: path) }
        #expect(error?.code == .invalidRequest)
        #expect(pair.client.openStreams == 0)
    }

    @Test("an answer that its receiver keeps is not changed by later ones in the same slot")
    func keptAnswer() throws {
        let pair = try MemoryPair()
        for tag in 0..<10 as Range<UInt64> {
            let stream = try pair.submit(tag)
            try pair.pump()
            let body = SharedBytes("answer \(tag)".utf8)
            _ = try pair.server.respond(
                stream: stream,
                status: 200,
                fields: [HTTP2Header("apns-id", "id \(tag)")],
                body: body
            )
            try pair.pump()
        }
        #expect(pair.responses.count == 10)
        for (tag, response) in pair.responses {
            #expect(response.fields["apns-id"] == "id \(tag)")
            #expect(String(decoding: response.body, as: UTF8.self) == "answer \(tag)")
        }
    }
}
