import Reactor

/// Asks a proxy for a tunnel to a server, over a socket that is connected to the proxy. It belongs to a loop.
///
/// It has no timeout of its own, because that of the connection covers it.
final class ProxyTunnel {
    typealias Completion = (Result<Socket, HTTP2Error>) -> Void

    private static let longestHead = 16 * 1024

    private let loop: EventLoop
    private let proxy: HTTPProxy
    private let socket: Socket
    private var unsent: ArraySlice<UInt8>
    private var head: [UInt8] = []
    private var registration: Registration?
    private var completion: Completion?

    /// Starts at once. `completion` is called once, on the loop and in a later pass, unless the attempt is cancelled
    /// before.
    ///
    /// - Throws: ``HTTP2Error/Code/lost`` if the loop takes no more sockets.
    init(
        loop: EventLoop,
        socket: Socket,
        through proxy: HTTPProxy,
        to host: String,
        port: UInt16,
        completion: @escaping Completion
    ) throws(HTTP2Error) {
        self.loop = loop
        self.socket = socket
        self.proxy = proxy
        self.completion = completion
        unsent = proxy.request(for: host, port: port)[...]
        do {
            registration = try loop.register(fd: socket.fd, interest: .write) { [weak self] _ in self?.advance() }
        } catch {
            throw HTTP2Error(.lost, "socket", cause: error)
        }
    }

    /// Cancels the attempt; `completion` is not called.
    func cancel() {
        completion = nil
        cancelRegistration()
        socket.close()
    }

    private func advance() {
        do throws(HTTP2Error) {
            guard try send(), try readHead() else { return }
            finish(.success(socket))
        } catch {
            socket.close()
            finish(.failure(error))
        }
    }

    /// True once the whole request is written.
    private func send() throws(HTTP2Error) -> Bool {
        guard !unsent.isEmpty else { return true }
        do {
            while !unsent.isEmpty {
                let transfer = try unsafe unsent.withUnsafeBytes { bytes throws(ReactorError) in
                    try unsafe socket.write(bytes)
                }
                guard case .moved(let count) = transfer else { return false }
                unsent = unsent.dropFirst(count)
            }
            if let registration { try loop.update(registration, interest: .read) }
        } catch {
            throw failure("was lost", cause: error)
        }
        return true
    }

    /// True once the proxy has agreed. The server speaks only after this side, so nothing may follow the head.
    private func readHead() throws(HTTP2Error) -> Bool {
        while true {
            var part = [UInt8](repeating: 0, count: 4096)
            let transfer: Socket.Transfer
            do {
                transfer = try unsafe part.withUnsafeMutableBytes { buffer throws(ReactorError) in
                    try unsafe socket.read(into: buffer)
                }
            } catch {
                throw failure("was lost", cause: error)
            }
            switch transfer {
            case .wouldBlock: return false
            case .endOfStream: throw failure("closed the connection")
            case .moved(let count): head += part.prefix(count)
            }
            if let end = Self.end(of: head) {
                try check(statusLine: head.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") })
                guard end == head.count else { throw failure("sent more than an answer") }
                return true
            }
            guard head.count <= Self.longestHead else { throw failure("sent no answer in HTTP") }
        }
    }

    /// `HTTP/1.1 200 Connection established`: any status of 2xx means that the tunnel stands.
    private func check(statusLine: ArraySlice<UInt8>) throws(HTTP2Error) {
        let line = String(decoding: statusLine, as: UTF8.self)
        guard let status = line.wholeMatch(of: /HTTP\/1\.[0-9] ([0-9]{3})( .*)?/)?.output.1 else {
            throw failure("sent no answer in HTTP")
        }
        guard status.hasPrefix("2") else {
            // The reason phrase is the proxy's own text, so it stays out of logs.
            throw failure("refused with \(status)" + (status == "407" ? ": its credentials are missing or wrong" : ""))
        }
    }

    /// The number of bytes up to the empty line.
    private static func end(of head: [UInt8]) -> Int? {
        var line = 0
        for (index, byte) in head.enumerated() where byte == UInt8(ascii: "\n") {
            let length = index - line
            if length == 0 || (length == 1 && head[line] == UInt8(ascii: "\r")) { return index + 1 }
            line = index + 1
        }
        return nil
    }

    /// No byte has reached the server.
    private func failure(_ words: String, cause: (any Error)? = nil) -> HTTP2Error {
        HTTP2Error(.unreachable, "the proxy \(proxy) \(words)", cause: cause)
    }

    private func finish(_ result: Result<Socket, HTTP2Error>) {
        cancelRegistration()
        completion.take()?(result)
    }

    private func cancelRegistration() {
        if let registration { loop.cancel(registration) }
        registration = nil
    }
}
