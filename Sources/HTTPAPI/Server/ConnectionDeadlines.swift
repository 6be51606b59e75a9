import HTTP1Server
import NIOCore

/// Ends a connection whose peer takes too long, byte by byte or not at all.
///
/// A limit on silence alone would not do: a peer that sends one byte now and then is never silent. So each of three
/// waits has a limit of its own: for a head, for an answer, and for the next request.
///
/// It stands behind the decoder, where a head is read when it is complete; the decoder says when one begins.
/// Bound to its channel's event loop, as every channel handler.
final class ConnectionDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    // Parts of requests and of answers; which does not matter.
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// What the connection waits for.
    private enum Wait {
        case head
        case answer
        case nextRequest
    }

    private let times: ConnectionTimes
    private var wait = Wait.head
    /// While an answer is due: whether the request behind has begun.
    private var nextHasBegun = false
    private var deadline = NIODeadline.distantFuture
    /// Due at the deadline or before it: deadlines move with every request, and a timer is set only when one has run
    /// out.
    private var timer: (task: Scheduled<Void>, due: NIODeadline)?

    init(_ times: ConnectionTimes) {
        self.times = times
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(.head, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(.head, context)
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is RequestBegan {
            switch wait {
            // The first head of a connection is due from its opening on.
            case .head: break
            case .answer: nextHasBegun = true
            case .nextRequest: begin(.head, context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if wait != .answer {
            nextHasBegun = false
            begin(.answer, context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        begin(nextHasBegun ? .head : .nextRequest, context)
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
    }

    private func begin(_ wait: Wait, _ context: ChannelHandlerContext) {
        self.wait = wait
        let time =
            switch wait {
            case .head: times.head
            case .answer: times.exchange
            case .nextRequest: times.idle
            }
        deadline = context.eventLoop.now + TimeAmount(time)
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
