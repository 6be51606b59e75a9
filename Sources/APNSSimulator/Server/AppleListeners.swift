import HTTP2Engine
import Reactor
import TLSEngine

/// All listeners of the simulated Apple. Runs on the event loop.
final class AppleListeners {
    private final class Counter {
        var value = 0

        func next() -> Int {
            value += 1
            return value
        }
    }

    private let servers: [HTTP2Server]
    /// The port of each listener.
    let ports: [ListenerRole: UInt16]

    /// Starts to listen. A role without a port gets a free one. Call it on the loop. Throws if a port is in use.
    init(
        loop: EventLoop,
        simulation: Simulation,
        context: TLSContext,
        host: String,
        ports: [ListenerRole: UInt16]
    ) throws(HTTP2Error) {
        var configuration = HTTP2ServerConfiguration()
        // Apple, Establishing a token-based connection to APNs: one stream until a token has proved valid.
        configuration.maximumConcurrentStreams = 1
        let counter = Counter()
        var servers: [HTTP2Server] = []
        var taken: [ListenerRole: UInt16] = [:]
        for role in ListenerRole.all {
            let server = try HTTP2Server(
                loop: loop,
                context: context,
                host: host,
                port: ports[role] ?? 0,
                configuration: configuration
            ) { _ in
                AppleConnection(simulation: simulation, role: role, loop: loop, number: counter.next())
            }
            servers.append(server)
            taken[role] = server.port
        }
        self.servers = servers
        self.ports = taken
    }

    /// Switches to another certificate and closes all connections.
    func show(_ context: TLSContext) {
        for server in servers {
            server.use(context)
            for connection in server.connections { connection.drop() }
        }
    }

    /// Stops listening and closes all connections.
    func close() {
        for server in servers {
            server.close()
        }
    }
}
