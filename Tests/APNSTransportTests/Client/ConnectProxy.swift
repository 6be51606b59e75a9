import Reactor
import Synchronization

/// A real HTTP proxy on loopback that joins connections by CONNECT, or fails as it is told.
final class ConnectProxy: Sendable {
    /// What the proxy does with a request.
    enum Conduct: Sendable {
        /// Joins the connection with the server that the request names.
        case joins
        /// Says this and closes.
        case says(String)
        /// Says this, without an end.
        case saysAndWaits(String)
        /// Closes without a word.
        case closes
        /// Says that the tunnel stands, and closes it after the first bytes through it.
        case closesMidway
    }

    let port: UInt16
    private let loop: EventLoop
    private let parts: LoopBound<Parts>
    private let mailbox: Mailbox

    private final class Parts {
        var listener: Listener?
        var joints: [Joint] = []
    }

    /// Starts to listen on a free port.
    ///
    /// - `serverPort`: where the server listens on loopback, whatever name the request has for it.
    init(serverPort: UInt16, _ conduct: Conduct) async throws {
        let loop = try EventLoop(name: "proxy")
        self.loop = loop
        let parts = LoopBound(sending: Parts(), to: loop)
        self.parts = parts
        let heads = Mailbox()
        port = try await loop.perform {
            Result { () throws(ReactorError) in
                guard let address = SocketAddress(numeric: "127.0.0.1", port: 0) else { return UInt16(0) }
                let listener = try Listener(loop: loop, address: address) { socket in
                    let joint = Joint(loop: loop, client: socket, serverPort: serverPort, conduct, heads)
                    parts.value.joints.append(joint)
                    joint.start()
                }
                parts.value.listener = listener
                return listener.address.port
            }
        }.get()
        mailbox = heads
    }

    /// The heads of the requests so far.
    var requests: [String] { mailbox.all }

    /// Closes everything.
    func stop() async throws {
        try await loop.perform { [parts] in
            parts.value.listener?.close()
            for joint in parts.value.joints { joint.close() }
            parts.value.joints = []
        }
        await loop.shutDown()
    }

    /// What was asked.
    final class Mailbox: Sendable {
        private let heads = Mutex<[String]>([])
        var all: [String] { heads.withLock { $0 } }
        func post(_ head: String) { heads.withLock { $0.append(head) } }
    }
}

/// One connection of a client, joined with one to the server.
private final class Joint {
    private let loop: EventLoop
    private let serverPort: UInt16
    private let conduct: ConnectProxy.Conduct
    private let heads: ConnectProxy.Mailbox
    private var client: Side
    private var server: Side?
    private var connector: Connector?
    private var head: [UInt8] = []
    private var isJoined = false

    init(
        loop: EventLoop,
        client: Socket,
        serverPort: UInt16,
        _ conduct: ConnectProxy.Conduct,
        _ heads: ConnectProxy.Mailbox
    ) {
        self.loop = loop
        self.client = Side(loop: loop, socket: client)
        self.serverPort = serverPort
        self.conduct = conduct
        self.heads = heads
    }

    func start() {
        client.watch { [weak self] bytes in self?.clientSent(bytes) }
    }

    func close() {
        connector?.cancel()
        client.close()
        server?.close()
    }

    private func clientSent(_ bytes: [UInt8]?) {
        guard let bytes else { return close() }
        guard !isJoined else {
            if case .closesMidway = conduct { return close() }
            server?.write(bytes)
            return
        }
        head += bytes
        guard head.suffix(4) == Array("\r\n\r\n".utf8)[...] else { return }
        heads.post(String(decoding: head, as: UTF8.self))
        isJoined = true
        switch conduct {
        case .joins: connect()
        case .says(let text):
            client.write(Array(text.utf8))
            close()
        case .saysAndWaits(let text): client.write(Array(text.utf8))
        case .closes: close()
        case .closesMidway: client.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
        }
    }

    private func connect() {
        connector = Connector(loop: loop, host: "127.0.0.1", port: serverPort, timeout: .seconds(60)) {
            [weak self] result in
            guard let self else { return }
            guard case .success(let socket) = result else { return close() }
            let side = Side(loop: loop, socket: socket)
            server = side
            side.watch { [weak self] bytes in
                guard let bytes else { self?.close(); return }
                self?.client.write(bytes)
            }
            // In two parts, as a slow proxy would.
            client.write(Array("HTTP/1.1 200 Connection est".utf8))
            loop.schedule(after: .milliseconds(5)) { [weak self] in
                self?.client.write(Array("ablished\r\nVia: test\r\n\r\n".utf8))
            }
        }
    }
}

/// One socket of a joint, with the bytes that it has not taken yet.
private final class Side {
    private let loop: EventLoop
    private let socket: Socket
    private var registration: Registration?
    private var unsent: [UInt8] = []

    init(loop: EventLoop, socket: Socket) {
        self.loop = loop
        self.socket = socket
    }

    /// Calls `received` with what comes; with nil at the end.
    func watch(_ received: @escaping ([UInt8]?) -> Void) {
        registration = try? loop.register(fd: socket.fd, interest: .read) { [weak self] ready in
            guard let self else { return }
            if ready.contains(.write) { flush() }
            if ready.contains(.read) { received(read()) }
        }
    }

    /// Nil at the end; empty if there is nothing.
    private func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        // An error is an end, too.
        switch try? bytes.withUnsafeMutableBytes({ try socket.read(into: $0) }) {
        case .moved(let count): return Array(bytes.prefix(count))
        case .wouldBlock: return []
        case .endOfStream, nil: return nil
        }
    }

    func write(_ bytes: [UInt8]) {
        unsent += bytes
        flush()
    }

    private func flush() {
        while !unsent.isEmpty, case .moved(let count)? = try? unsent.withUnsafeBytes({ try socket.write($0) }) {
            unsent.removeFirst(count)
        }
        guard let registration else { return }
        // Fails only for a closed socket, which is not registered.
        try? loop.update(registration, interest: unsent.isEmpty ? .read : [.read, .write])
    }

    func close() {
        if let registration { loop.cancel(registration) }
        registration = nil
        socket.close()
    }
}
