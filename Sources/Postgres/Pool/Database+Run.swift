import LibPQ
import Logging
import ServiceLifecycle

extension Database {
    /// Makes ``Configuration/connectionsAhead`` and tries resting ones now and then, until the task is cancelled or the service
    /// group shuts down; then ends the lending and waits for the loans, at most ``Configuration/shutdownTimeout``.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await connectAhead()
                await keepAlive()
                // Only a cancelled sleep throws, and the condition sees that.
                try? await Task.sleep(for: configuration.keepAliveInterval / 2)
            }
        }
        await shutDown()
    }

    /// Ends the lending for good: whoever asks from now on gets ``PostgresError/Code/closed``. Waits for the loans, at most
    /// ``Configuration/shutdownTimeout``. ``run()`` does this by itself.
    package func shutDown() async {
        pool.shutDown()
        await pool.drain(timeout: configuration.shutdownTimeout)
    }

    /// One after the other: whoever is served meanwhile comes first.
    private func connectAhead() async {
        while pool.reserve(below: configuration.connectionsAhead) {
            do {
                pool.release(try await fillSlot(until: ContinuousClock.now + configuration.acquireTimeout))
            } catch {
                // An outage has been told of; the next round tries again.
                return
            }
        }
    }

    private func keepAlive() async {
        let limit = ContinuousClock.now - configuration.keepAliveInterval
        while let session = pool.takeIdle(since: limit) {
            let deadline = ContinuousClock.now + configuration.connectTimeout
            do {
                _ = try await session.run([Query("SELECT 1").statement], until: deadline)
                pool.release(session)
            } catch {
                // It has closed itself; the next one who wants a connection makes a new one and reports what is wrong.
                logger.debug("a resting connection had broken", metadata: ["postgres.error": "\(error)"])
                session.close()
                pool.freeSlot()
            }
        }
    }
}
