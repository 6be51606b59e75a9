package import Reactor
package import TLSEngine

/// Listens on one port and serves HTTP/2 over TLS. Belongs to a loop.
package final class HTTP2Server {
    private let loop: EventLoop
    private var context: TLSContext
    private let configuration: HTTP2ServerConfiguration
    private let makeHandler: (HTTP2ServerConnection) -> any HTTP2ServerHandler
    private var listener: Listener?
    private var open: [UInt64: HTTP2ServerConnection] = [:]
    private var lastNumber: UInt64 = 0

    /// The port that it listens on.
    package let port: UInt16

    /// Starts to listen. Only on the loop.
    ///
    /// - `context`: made by ``TLSContext/server(certificatePEM:privateKeyPEM:)``.
    /// - `host`: a numeric address of this machine.
    /// - `port`: 0 takes a free one.
    /// - `handler`: called for each connection when its TLS handshake is done.
    /// - Throws: ``HTTP2Error/Code/unreachable`` when the address is none, or the port is taken.
    package init(
        loop: EventLoop,
        context: TLSContext,
        host: String = "127.0.0.1",
        port: UInt16 = 0,
        configuration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
        handler: @escaping (HTTP2ServerConnection) -> any HTTP2ServerHandler
    ) throws(HTTP2Error) {
        loop.preconditionOnLoop()
        guard let address = SocketAddress(numeric: host, port: port) else {
            throw HTTP2Error(.unreachable, "\(host) is no numeric address")
        }
        self.loop = loop
        self.context = context
        self.configuration = configuration
        self.makeHandler = handler
        // The listener needs this object and this object its port: the reference is filled in afterwards.
        let link = WeakServer()
        do {
            let listener = try Listener(loop: loop, address: address) { link.server?.accept($0) }
            self.port = listener.address.port
            self.listener = listener
        } catch {
            throw HTTP2Error(.unreachable, "cannot listen on \(address)", cause: error)
        }
        link.server = self
    }

    /// The connections that have not closed, oldest first; also those in their handshake.
    package var connections: [HTTP2ServerConnection] {
        open.values.sorted { $0.number < $1.number }
    }

    /// Takes another key and certificate for all handshakes that begin from now on.
    package func use(_ context: TLSContext) {
        loop.preconditionOnLoop()
        self.context = context
    }

    /// Stops listening and drops every connection in the loop's next pass; their handlers hear of it.
    package func close() {
        loop.preconditionOnLoop()
        listener?.close()
        listener = nil
        for connection in open.values { connection.drop() }
    }

    private func accept(_ socket: Socket) {
        lastNumber += 1
        do {
            let connection = try HTTP2ServerConnection(
                loop: loop,
                number: lastNumber,
                socket: socket,
                tls: TLSSession(server: context),
                configuration: configuration,
                makeHandler: makeHandler
            ) { [weak self] closed in
                self?.open[closed.number] = nil
            }
            open[lastNumber] = connection
            connection.start()
        } catch {
            // Only when memory is out: the client sees a closed connection.
            socket.close()
        }
    }
}

private final class WeakServer {
    weak var server: HTTP2Server?
}
