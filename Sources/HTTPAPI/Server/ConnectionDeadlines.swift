import HTTP1Server
import NIOCore

/// Closes a connection if its peer takes too long, whether it sends slowly or nothing.
///
/// A limit on silence is not enough: a peer that sends a byte now and then is never silent. So there are three separate
/// timeouts: for a head, for an answer, and for the next request.
///
/// The handler comes after the decoder, which passes on a head once it is complete and fires an event when one begins.
/// Bound to its channel's event loop, like every channel handler.
final class ConnectionDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    // The handler passes all parts of requests and answers on, whatever their type.
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// The event that the connection waits for.
    private enum Wait {
        case head
        case answer
        case nextRequest
    }

    private let times: ConnectionTimes
    private var wait = Wait.head
    /// Whether the next request has begun before the current answer.
    private var nextHasBegun = false
    private var deadline = NIODeadline.distantFuture
    /// Fires at the deadline or earlier. Each request moves the deadline, but the timer is set again only after it has
    /// fired.
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
            // The timeout of a connection's first head starts when the connection opens.
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

    /// A long request has time for its next part.
    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is RequestProgressed else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        if wait == .answer { begin(.answer, context) }
        promise?.succeed()
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
