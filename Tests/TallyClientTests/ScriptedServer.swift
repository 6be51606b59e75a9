import Foundation
import Synchronization

/// A small HTTP/1.1 server on loopback that answers by a script, with real sockets so that connections can break.
///
/// One thread accepts, one serves each connection. Everything stops with ``stop()``.
final class ScriptedServer: Sendable {
    /// One request as it came.
    struct Received: Sendable, Equatable {
        var method: String
        var target: String
        var headers: [String: String]
        var body: String
        /// Which connection it came on, from 0.
        var connection: Int
    }

    /// What happens to a request.
    enum Reply: Sendable {
        case answer(status: Int, headers: [String: String] = [:], body: String)
        /// The connection is closed without an answer.
        case hangUp
        /// No answer; the connection stays.
        case silence
        /// A body in chunks, one after the other, each followed by a call of `progress`; then what `ending` says.
        case stream([String], Ending, progress: @Sendable () -> Void = {})

        enum Ending: Sendable {
            /// The answer ends as it should.
            case end
            /// The connection breaks.
            case hangUp
            /// Nothing more comes.
            case silence
        }
    }

    let port: UInt16
    var url: String { "http://127.0.0.1:\(port)" }
    /// All requests so far, in order of arrival.
    var received: [Received] { state.withLock { $0.received } }
    /// Connections that nobody has ended.
    var openConnections: Int { state.withLock { $0.sockets.count } }
    /// The most requests that were being answered at a time.
    var peak: Int { state.withLock { $0.peak } }

    private struct State {
        var received: [Received] = []
        var sockets: [Int32] = []
        var connections = 0
        var inFlight = 0
        var peak = 0
        var isStopped = false
    }

    private let state = Mutex(State())
    private let listener: Int32
    private let readsStreams: Bool
    private let script: @Sendable (Int, Received) -> Reply

    /// Listens on a port of the system's choice, or on `port`.
    ///
    /// `script` gets each request with its number from 0, on the connection's thread. It gets a request whose body comes
    /// in chunks when all is there; with `readsStreams` false, as soon as its head is.
    init(
        port: UInt16 = 0,
        readsStreams: Bool = true,
        script: @escaping @Sendable (Int, Received) -> Reply
    ) throws {
        self.readsStreams = readsStreams
        let (listener, port) = try Self.listen(port)
        self.listener = listener
        self.port = port
        self.script = script
        Thread.detachNewThread { self.acceptConnections() }
    }

    func stop() {
        let sockets = state.withLock { state in
            state.isStopped = true
            defer { state.sockets = [] }
            return state.sockets
        }
        // Wakes the threads that wait in accept and read; they close.
        shutdown(listener, Int32(SHUT_RDWR))
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// A port that nobody listens on.
    static func closedPort() throws -> UInt16 {
        let (socket, port) = try listen(0)
        close(socket)
        return port
    }

    private static func listen(_ port: UInt16) throws -> (socket: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { throw POSIXError(.EMFILE) }
        var reuse: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && Glibc.listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard bound else {
            close(listener)
            throw POSIXError(.EADDRINUSE)
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    private func acceptConnections() {
        while true {
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else { break }
            let number: Int? = state.withLock { state in
                guard !state.isStopped else { return nil }
                state.sockets.append(socket)
                defer { state.connections += 1 }
                return state.connections
            }
            guard let number else {
                close(socket)
                break
            }
            Thread.detachNewThread { self.serve(socket, number) }
        }
        close(listener)
    }

    private func serve(_ socket: Int32, _ connection: Int) {
        defer {
            state.withLock { state in state.sockets.removeAll { $0 == socket } }
            close(socket)
        }
        var buffer: [UInt8] = []
        while let request = readRequest(from: socket, &buffer, connection) {
            let number = state.withLock { state in
                state.received.append(request)
                state.inFlight += 1
                state.peak = max(state.peak, state.inFlight)
                return state.received.count - 1
            }
            let reply = script(number, request)
            state.withLock { $0.inFlight -= 1 }
            switch reply {
            case .answer(let status, let headers, let body):
                let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
                let head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n"
                guard writeAll(Array((head + body).utf8), to: socket) else { return }
            case .hangUp: return
            case .silence: continue
            case .stream(let chunks, let ending, let progress):
                guard stream(chunks, progress, to: socket) else { return }
                switch ending {
                case .end: guard writeAll(Array("0\r\n\r\n".utf8), to: socket) else { return }
                case .hangUp: return
                case .silence: continue
                }
            }
        }
    }

    private func stream(_ chunks: [String], _ progress: () -> Void, to socket: Int32) -> Bool {
        let head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        guard writeAll(Array(head.utf8), to: socket) else { return false }
        for chunk in chunks {
            let size = String(chunk.utf8.count, radix: 16)
            guard writeAll(Array("\(size)\r\n\(chunk)\r\n".utf8), to: socket) else { return false }
            progress()
        }
        return true
    }

    private func readRequest(from socket: Int32, _ buffer: inout [UInt8], _ connection: Int) -> Received? {
        let separator = Array("\r\n\r\n".utf8)
        while true {
            if let end = buffer.firstRange(of: separator) {
                let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
                var lines = head.components(separatedBy: "\r\n")
                let words = lines.removeFirst().components(separatedBy: " ")
                var headers: [String: String] = [:]
                for line in lines {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                    headers[line[..<colon].lowercased()] = value
                }
                if words.count == 3, let whole = body(in: buffer[end.upperBound...], headers) {
                    buffer.removeFirst(whole.end)
                    return Received(
                        method: words[0],
                        target: words[1],
                        headers: headers,
                        body: String(decoding: whole.body, as: UTF8.self),
                        connection: connection
                    )
                }
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = read(socket, &chunk, chunk.count)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }

    /// The body of a request, and where it ends; nil: more has to come.
    private func body(in bytes: ArraySlice<UInt8>, _ headers: [String: String]) -> (body: [UInt8], end: Int)? {
        guard headers["transfer-encoding"] == "chunked", readsStreams else {
            let length = headers["content-length"].flatMap { Int($0) } ?? 0
            return bytes.count < length ? nil : (Array(bytes.prefix(length)), bytes.startIndex + length)
        }
        var rest = bytes
        var body: [UInt8] = []
        while let line = rest.firstRange(of: Array("\r\n".utf8)),
            let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16),
            rest.endIndex >= line.upperBound + size + 2
        {
            body += rest[line.upperBound..<(line.upperBound + size)]
            rest = rest[(line.upperBound + size + 2)...]
            if size == 0 { return (body, rest.startIndex) }
        }
        return nil
    }

    private func writeAll(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
