import NIOCore

/// Ends a connection whose peer takes too long, byte by byte or not at all.
///
/// The time of silence alone would not do: who sends one byte now and then is never silent. It stands behind the
/// decoder, where a head is read when it is complete. So the head of a request is due so long after the connection was
/// opened or something was last answered; and an answer has to begin so long after its head, whether it is the body
/// that dribbles or the request that takes long.
///
/// Bound to its channel's event loop, as every channel handler.
final class ConnectionDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    // Parts of requests and of answers; which does not matter.
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let head: TimeAmount
    private let exchange: TimeAmount
    private var deadline = NIODeadline.distantFuture
    /// Due at the deadline or before it: deadlines move with every request, and a timer is set only when one has run
    /// out.
    private var timer: (task: Scheduled<Void>, due: NIODeadline)?
    private var isInExchange = false

    /// - Parameters:
    ///   - head: until a request has begun.
    ///   - exchange: from the first part of a request to the first part of its answer.
    init(head: Duration, exchange: Duration) {
        self.head = TimeAmount(head)
        self.exchange = TimeAmount(exchange)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { set(head, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        set(head, context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isInExchange {
            isInExchange = true
            set(exchange, context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        isInExchange = false
        set(head, context)
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
    }

    private func set(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        deadline = context.eventLoop.now + time
        if let timer, timer.due <= deadline { return }
        timer?.task.cancel()
        startTimer(context)
    }

    private func startTimer(_ context: ChannelHandlerContext) {
        let handler = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleTask(deadline: deadline) {
            let (deadlines, context) = handler.value
            deadlines.timerDue(context)
        }
        timer = (task, deadline)
    }

    private func timerDue(_ context: ChannelHandlerContext) {
        timer = nil
        if deadline <= context.eventLoop.now {
            context.channel.close(mode: .all, promise: nil)
        } else {
            startTimer(context)
        }
    }
}
