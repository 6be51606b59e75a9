import LibPQ
import Logging
import ServiceLifecycle

extension Database {
    /// Tries resting connections now and then, until the task is cancelled or the service group shuts down; then ends
    /// the lending and waits for the loans, at most ``Configuration/shutdownTimeout``.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await keepAlive()
                // Only a cancelled sleep throws, and the condition sees that.
                try? await Task.sleep(for: configuration.keepAliveInterval / 2)
            }
        }
        await shutDown()
    }

    /// Ends the lending for good: whoever asks from now on gets ``PostgresError/Code/closed``. Waits for the loans, at
    /// most ``Configuration/shutdownTimeout``. ``run()`` does this by itself.
    package func shutDown() async {
        pool.shutDown()
        await pool.drain(timeout: configuration.shutdownTimeout)
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
