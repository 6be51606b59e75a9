import NIOCore
import NIOPosix
import ServiceLifecycle

/// Listens on one address and serves the connections, until a graceful shutdown. Then it accepts no more connections,
/// and returns when the open requests are answered.
package struct HTTP1Listener: Service {
    private let host: String
    private let port: Int
    private let maximumConnections: Int
    private let connection: HTTP1Connection
    private let onListening: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - host: the name or address to listen on.
    ///   - port: 0: any free port.
    ///   - maximumConnections: further ones wait in the queue of the kernel.
    ///   - connection: serves each connection.
    ///   - onListening: called once with the actual port, when connections are accepted.
    package init(
        host: String,
        port: Int,
        maximumConnections: Int = .max,
        connection: HTTP1Connection,
        onListening: @escaping @Sendable (Int) async -> Void
    ) {
        self.host = host
        self.port = port
        self.maximumConnections = maximumConnections
        self.connection = connection
        self.onListening = onListening
    }

    /// Serves until shutdown. On cancellation it closes all connections at once.
    ///
    /// - Throws: ``IOError`` or ``SocketAddressError`` if the address cannot be bound.
    package func run() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let allClosed = group.any().makePromise(of: Void.self)
        let calls = OpenCalls()
        let listening: any Channel
        do {
            listening = try await bootstrap(group, allClosed, calls).bind(host: host, port: port).get()
        } catch {
            allClosed.succeed()
            throw error
        }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await onListening(listening.localAddress?.port ?? port)
                // It cannot fail: the handler succeeds it.
                try? await allClosed.futureResult.get()
                await calls.drain()
            } onGracefulShutdown: {
                listening.close(promise: nil)
            }
        } onCancel: {
            listening.eventLoop.execute {
                // Without the handler the channel is closed already.
                try? listening.pipeline.syncOperations.handler(type: OpenConnections.self).closeAll()
            }
            listening.close(promise: nil)
        }
    }

    private func bootstrap(
        _ group: MultiThreadedEventLoopGroup,
        _ allClosed: EventLoopPromise<Void>,
        _ calls: OpenCalls
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [maximumConnections] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        OpenConnections(limit: maximumConnections, allClosed: allClosed)
                    )
                }
            }
            // A caller may close its side before it has the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { [connection] channel in
                channel.eventLoop.makeCompletedFuture { try connection.setUp(channel, calls: calls) }
            }
    }
}
