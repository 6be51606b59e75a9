import Reactor
import TLSEngine

@testable import HTTP2Engine

/// A peer on a real socket with real TLS that says what it is told instead of HTTP/2.
final class ScriptedPeer: Sendable {
    /// Bytes in, bytes out; in place of a session.
    private final class Script: FrameSession {
        private var output: [[UInt8]]
        /// What was handed out last; a block of its own, because its address is lent.
        private var current = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 1)
        /// Whether the last piece is sent again and again.
        private let repeats: Bool

        private let lastAnswer: [UInt8]?
        private var received: [UInt8] = []
        private(set) var isFinished = false

        init(_ output: [[UInt8]], repeats: Bool, lastAnswer: [UInt8]?) {
            self.output = output
            self.repeats = repeats
            self.lastAnswer = lastAnswer
        }

        deinit {
            current.deallocate()
        }

        func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
            guard let lastAnswer, !isFinished else { return }
            received += bytes
            if RawFrame.read(received).contains(where: { $0.type == 1 }) {
                output.append(lastAnswer)
                isFinished = true
            }
        }

        func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
            if output.isEmpty { return nil }
            let piece = output.count == 1 && repeats ? output[0] : output.removeFirst()
            current.deallocate()
            current = .allocate(byteCount: piece.count, alignment: 1)
            current.copyBytes(from: piece)
            return UnsafeRawBufferPointer(current)
        }

        var hasEvents: Bool { false }
        var violation: String? { nil }
    }

    private final class Owner: WireDelegate {
        let mailbox: Mailbox<HTTP2Error?>

        init(_ mailbox: Mailbox<HTTP2Error?>) {
            self.mailbox = mailbox
        }

        func wireOpened() {}
        func wireMoved() {}
        func wireWrote() {}
        func wireClosed(_ error: HTTP2Error?) { mailbox.post(error) }
    }

    let loop: EventLoop
    /// One element per connection that is over.
    let ends = Mailbox<HTTP2Error?>()
    private let output: [[UInt8]]
    private let repeatsLast: Bool
    private let lastAnswer: [UInt8]?

    /// - `output`: pieces that are sent as fast as the socket takes them.
    /// - `repeatsLast`: the last piece again and again.
    /// - `lastAnswer`: what is said to the first request; the connection ends with it.
    init(loop: EventLoop, _ output: [[UInt8]], repeatsLast: Bool = false, lastAnswer: [UInt8]? = nil) {
        self.loop = loop
        self.output = output
        self.repeatsLast = repeatsLast
        self.lastAnswer = lastAnswer
    }

    /// Serves every connection with the script; the port is returned.
    func listen(_ context: TLSContext) async throws -> (port: UInt16, listener: LoopBound<Listener>) {
        guard let address = SocketAddress(numeric: "127.0.0.1", port: 0) else { throw HTTP2Error(.unreachable, "") }
        let listener = try await loop.perform { [self] in
            Result {
                let listener = try Listener(loop: loop, address: address) { [self] socket in
                    run(socket, try? TLSSession(server: context))
                }
                return LoopBound(listener, to: loop)
            }
        }.get()
        return (try await loop.perform { listener.value.address.port }, listener)
    }

    /// Connects as a client.
    func connect(_ context: TLSContext, port: UInt16) async throws {
        try await loop.perform { [self] in
            // Keeps the connector until it has called back.
            var kept: Connector?
            kept = Connector(loop: loop, host: "127.0.0.1", port: port, timeout: .seconds(60)) { [self] result in
                _ = kept.take()
                guard case .success(let socket) = result else {
                    return ends.post(HTTP2Error(.unreachable, "no socket"))
                }
                run(socket, try? TLSSession(client: context, host: "localhost"))
            }
        }
    }

    private func run(_ socket: Socket, _ tls: TLSSession?) {
        guard let tls else { return ends.post(HTTP2Error(.tls, "no session")) }
        let script = Script(output, repeats: repeatsLast, lastAnswer: lastAnswer)
        let wire = Wire(loop: loop, socket: socket, tls: tls, session: script, lingerTime: nil)
        wire.start(delegate: Owner(ends))
    }
}
