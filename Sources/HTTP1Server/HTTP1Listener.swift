import NIOCore
import NIOPosix
import ServiceLifecycle

/// Listens on one address and serves the connections, until a graceful shutdown. Then it accepts no more connections,
/// and returns when the open requests are answered and their connections closed.
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
        // Holds no more than the limit of connections.
        let (connections, accepted) = AsyncStream.makeStream(of: AcceptedConnection.self)
        let listening = try await bootstrap(accepted).bind(host: host, port: port).get()
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await onListening(listening.localAddress?.port ?? port)
                await withDiscardingTaskGroup { tasks in
                    for await accepted in connections {
                        tasks.addTask(executorPreference: EventLoopExecutor(loop: accepted.loop)) {
                            await accepted.serve(connection.responder)
                        }
                    }
                }
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

    private func bootstrap(_ accepted: AsyncStream<AcceptedConnection>.Continuation) -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [maximumConnections] channel in
                channel.eventLoop.makeCompletedFuture {
                    let connections = OpenConnections(limit: maximumConnections) { accepted.finish() }
                    try channel.pipeline.syncOperations.addHandler(connections)
                }
            }
            // A caller may close its side before it has the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { [connection] channel in
                channel.eventLoop.makeCompletedFuture {
                    let result = accepted.yield(try connection.setUp(channel))
                    // The listener has stopped meanwhile, so no task would serve it. NIO closes it.
                    if case .terminated = result { throw ChannelError.ioOnClosedChannel }
                }
            }
    }
}
