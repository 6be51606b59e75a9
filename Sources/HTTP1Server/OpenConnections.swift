import NIOCore

/// Accepts the connections of a listener: no more than its limit at the same time, and none while it stops.
///
/// Bound to the event loop of the listening channel, like every channel handler.
final class OpenConnections: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private let limit: Int
    private var open: [ObjectIdentifier: any Channel] = [:]
    private var wantsRead = false
    private var isStopping = false
    private let onStop: () -> Void

    /// - Parameters:
    ///   - limit: Further connections wait in the queue of the kernel.
    ///   - onStop: called when the listener stops, before its connections are told.
    init(limit: Int, onStop: @escaping () -> Void) {
        self.limit = limit
        self.onStop = onStop
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = unwrapInboundIn(data)
        guard !isStopping else { return connection.close(promise: nil) }
        let id = ObjectIdentifier(connection)
        open[id] = connection
        let handler = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        connection.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (connections, context) = handler.value
            connections.closed(id, context)
        }
        context.fireChannelRead(data)
    }

    private func closed(_ id: ObjectIdentifier, _ context: ChannelHandlerContext) {
        open[id] = nil
        guard wantsRead, !isStopping else { return }
        wantsRead = false
        context.read()
    }

    func read(context: ChannelHandlerContext) {
        if open.count < limit { context.read() } else { wantsRead = true }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isStopping = true
        onStop()
        for connection in open.values {
            connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        context.fireChannelInactive()
    }

    /// Closes the connections, whatever they are at.
    func closeAll() {
        for connection in open.values { connection.close(promise: nil) }
    }
}
