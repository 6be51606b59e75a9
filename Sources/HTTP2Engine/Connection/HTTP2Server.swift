package import Reactor
package import TLSEngine

/// Listens on one port and serves HTTP/2 over TLS. It belongs to a loop. The simulator and tests use it.
package final class HTTP2Server {
    private let loop: EventLoop
    private var context: TLSContext
    private let configuration: HTTP2ServerConfiguration
    private let makeHandler: (HTTP2ServerConnection) -> any HTTP2ServerHandler
    private var listener: Listener?
    private var open: [UInt64: HTTP2ServerConnection] = [:]
    private var lastNumber: UInt64 = 0

    /// The port of the listener.
    package let port: UInt16

    /// Starts to listen. Call it only on the loop.
    ///
    /// - `context`: from ``TLSContext/server(certificatePEM:privateKeyPEM:)``.
    /// - `host`: a numeric address of this machine.
    /// - `port`: 0 selects a free one.
    /// - `handler`: creates the handler of a connection after its TLS handshake.
    /// - Throws: ``HTTP2Error/Code/unreachable`` if the address is invalid or the port is in use.
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
        // The listener needs this object, and this object needs the listener's port. So the reference is set
        // afterwards.
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

    /// The open connections, oldest first, including those in their handshake.
    package var connections: [HTTP2ServerConnection] {
        open.values.sorted { $0.number < $1.number }
    }

    /// Uses another key and certificate for all later handshakes.
    package func use(_ context: TLSContext) {
        loop.preconditionOnLoop()
        self.context = context
    }

    /// Stops listening and drops every connection in the loop's next pass. Their handlers are called.
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
            // Happens only if memory runs out. The client sees a closed connection.
            socket.close()
        }
    }
}

private final class WeakServer {
    weak var server: HTTP2Server?
}
