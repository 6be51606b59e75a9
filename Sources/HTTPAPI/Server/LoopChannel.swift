import HTTP1Server
import HummingbirdCore
import Logging
import NIOCore

/// A connection whose requests run on the event loop that reads and writes it.
///
/// Requests and answers do not change threads, so neither wakes another thread.
struct LoopChannel: ServerChildChannel {
    let connection: HTTP1Connection

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Connection.Value> {
        connection.setup(channel: channel, logger: logger)
    }

    func handle(value: HTTP1Connection.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(loop: value.channel.eventLoop)) {
            await connection.handle(value: value, logger: logger)
        }
    }
}

/// Runs tasks on an event loop. The event loop must outlive the tasks.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
