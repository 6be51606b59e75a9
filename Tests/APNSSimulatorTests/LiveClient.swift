import HTTP2Engine
import Reactor
import TLSEngine

@testable import APNSSimulator

/// What a client of Apple's saw.
enum Seen: Sendable, Equatable {
    case answer(tag: UInt64, status: Int, body: String)
    case failed(tag: UInt64, HTTP2StreamFailure)
    case streams(Int)
    case goneAway(HTTP2ErrorCode, String)
    case closed
}

/// One connection to the simulated Apple, whose events arrive as a sequence.
final class LiveClient: Sendable {
    private final class Handler: HTTP2ClientHandler {
        let events: AsyncStream<Seen>.Continuation

        init(_ events: AsyncStream<Seen>.Continuation) {
            self.events = events
        }

        func connected(_ connection: HTTP2ClientConnection) {}

        func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response) {
            let body = String(decoding: response.body, as: UTF8.self)
            events.yield(.answer(tag: tag, status: response.status, body: body))
        }

        func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure) {
            events.yield(.failed(tag: tag, failure))
        }

        func streamsFreed(_ connection: HTTP2ClientConnection) {}

        func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int) {
            events.yield(.streams(maximumConcurrentStreams))
        }

        func goneAway(
            _ connection: HTTP2ClientConnection,
            lastStreamID: Int32,
            code: HTTP2ErrorCode,
            debugData: [UInt8]
        ) {
            events.yield(.goneAway(code, String(decoding: debugData, as: UTF8.self)))
        }

        func exhausted(_ connection: HTTP2ClientConnection) {}

        func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?) {
            events.yield(.closed)
            events.finish()
        }
    }

    let events: AsyncStream<Seen>
    private let loop: EventLoop
    private let bound: LoopBound<(HTTP2ClientConnection, Handler)>

    init(to addresses: SimulatorAddresses, port: UInt16) async throws {
        let loop = try EventLoop(name: "test-client")
        let (events, continuation) = AsyncStream<Seen>.makeStream()
        let context = try TLSContext.client(caFile: addresses.caFile)
        self.loop = loop
        self.events = events
        bound = try await loop.perform {
            let handler = Handler(continuation)
            let connection = HTTP2ClientConnection(
                loop: loop,
                context: context,
                host: addresses.host,
                port: port,
                handler: handler
            )
            connection.connect()
            return LoopBound((connection, handler), to: loop)
        }
    }

    /// Sends requests one after the other in one pass; each needs room.
    func send(_ paths: [String], authorization: String, body: String) async throws {
        let headers = try SharedHeaders(
            authority: "localhost",
            fields: [
                HTTP2Header("authorization", authorization),
                HTTP2Header("apns-topic", "com.example.game.push-type.liveactivity"),
                HTTP2Header("apns-push-type", "liveactivity"), HTTP2Header("apns-priority", "5"),
            ]
        )
        let bytes = SharedBytes(Array(body.utf8))
        let result = try await loop.perform { [bound] in
            Result {
                try bound.value.0.withSubmissions(headers: headers, body: bytes) { (submissions) throws(HTTP2Error) in
                    for (tag, path) in paths.enumerated() {
                        let suffix = Array(path.utf8)
                        _ = try submissions.add(tag: UInt64(tag), pathSuffix: suffix.span)
                    }
                }
            }
        }
        try result.get()
    }

    func close() async {
        loop.execute { [bound] in bound.value.0.drop(nil) }
        await loop.shutDown()
    }
}
