@testable import HTTP2Engine

/// What each side of a well-meant conversation says, frame by frame: what the fuzz test begins with.
struct Transcript: Sendable {
    /// The preface first, then frames.
    let client: [[UInt8]]
    let server: [[UInt8]]
    /// How many requests the client has to open so that the server's frames find their streams.
    static let requests = 12

    func frames(against victim: Victim.Role) -> [[UInt8]] {
        victim == .client ? server : client
    }

    /// Two of our own sessions talk: answers with and without bodies, resets, a ping, a GOAWAY.
    static func recorded() throws -> Transcript {
        let client = try NGHTTP2ClientSession(maximumBody: 100_000, maximumHeaders: 4096)
        let server = try NGHTTP2ServerSession(maximumConcurrentStreams: 100, maximumBody: 100_000, maximumHeaders: 4096)
        var said = (client: [UInt8](), server: [UInt8]())
        func pump() throws {
            while let bytes = try client.nextOutput() {
                said.client += bytes
                try server.receive(bytes)
            }
            while let bytes = try server.nextOutput() {
                said.server += bytes
                try client.receive(bytes)
            }
        }
        try pump()
        for number in 1...requests {
            let headers = try SharedHeaders(authority: "a", fields: [HTTP2Header("apns-topic", "topic-\(number % 3)")])
            let body = number % 3 == 0 ? nil : SharedBytes(RawFrame.text(number * 100))
            let request = OutgoingRequest(headers: headers, extra: [HTTP2Header("apns-id", "\(number)")], body: body)
            _ = try client.submit(request, tag: UInt64(number), pathSuffix: Array("/\(number)".utf8).span)
        }
        try pump()
        client.cancel(stream: 5)
        client.ping(7)
        server.reset(stream: 7, code: .refusedStream)
        for stream in stride(from: Int32(1), through: 21, by: 2) {
            let fields = [HTTP2Header("apns-unique-id", "id-\(stream)"), HTTP2Header("content-type", "text/plain")]
            let body = stream % 4 == 1 ? SharedBytes(RawFrame.text(Int(stream) * 40)) : nil
            _ = try server.respond(stream: stream, status: 200 + Int(stream), fields: fields, body: body)
            try pump()
        }
        server.goAway(lastStreamID: nil, code: .noError, debugData: Array("good bye".utf8))
        try pump()
        client.goAway()
        try pump()
        let opening = RawFrame.preface
        return Transcript(
            client: [opening] + RawFrame.split(Array(said.client.dropFirst(opening.count))),
            server: RawFrame.split(said.server)
        )
    }

    /// Frames as other implementations write them, which ours never does: padding, priorities, CONTINUATION, indexed
    /// fields, interim answers, trailers, extensions.
    static var foreign: Transcript {
        let shared =
            RawFrame.frame(type: 2, stream: 3, [0, 0, 0, 1, 200]) + RawFrame.frame(type: 16, [0, 0, 0, 3, 117])
        let padded = RawFrame.frame(type: 0, flags: 9, stream: 3, [4] + RawFrame.text(20) + [0, 0, 0, 0])
        let client =
            RawFrame.settings([(1, 4096), (3, 100), (4, 1 << 20)]) + RawFrame.windowUpdate(1 << 20)
            + RawFrame.settingsAcknowledgement + RawFrame.frame(type: 1, flags: 0x2d, stream: 1, paddedRequest)
            + RawFrame.frame(type: 1, stream: 3, RawFrame.request)
            + RawFrame.continuation(stream: 3, ends: false, RawFrame.field(bytes: [97], [98], indexed: true))
            + RawFrame.continuation(stream: 3, ends: true, [0xbe]) + shared + padded
            + RawFrame.headers(stream: 5, ends: false, RawFrame.request + [0xbe])
            + RawFrame.headers(stream: 7, ends: false, RawFrame.request + [0xbe])
            + RawFrame.headers(stream: 7, ends: true, RawFrame.field("trailer", "1")) + RawFrame.ping(3)
            + RawFrame.reset(stream: 5, code: 8) + RawFrame.windowUpdate(stream: 1, 70_000)
        let server =
            RawFrame.settings([(3, 100), (6, 16_384)]) + RawFrame.settingsAcknowledgement + RawFrame.windowUpdate(99)
            + RawFrame.headers(stream: 1, ends: false, RawFrame.field(":status", "103") + RawFrame.field("link", "x"))
            + RawFrame.frame(type: 1, stream: 1, RawFrame.ok)
            + RawFrame.continuation(stream: 1, ends: true, RawFrame.field(bytes: [97], [98], indexed: true))
            + RawFrame.data(stream: 1, ends: false, RawFrame.text(50)) + shared
            + RawFrame.headers(stream: 1, ends: true, RawFrame.field("trailer", "1"))
            + RawFrame.headers(stream: 3, ends: false, RawFrame.ok + [0xbe]) + padded
            + RawFrame.frame(type: 10, flags: 0, stream: 5, [0, 1, 97, 98]) + RawFrame.reset(stream: 5, code: 7)
            + RawFrame.headers(stream: 7, ends: true, [0x8d, 0xbe]) + RawFrame.ping(9)
            + RawFrame.settings([(3, 1)]) + RawFrame.goAway(last: 19, code: 0) + RawFrame.goAway(last: 9, code: 0)
        return Transcript(client: [RawFrame.preface] + RawFrame.split(client), server: RawFrame.split(server))
    }

    private static var paddedRequest: [UInt8] {
        [3] + [0, 0, 0, 0, 15] + RawFrame.request + [0, 0, 0]
    }
}
