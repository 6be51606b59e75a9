import LibPQ
import Logging
import ServiceLifecycle

extension Database {
    /// Checks idle connections regularly, until the task is cancelled or the service group shuts down. Then it stops
    /// lending and waits for the loans, at most ``Configuration/shutdownTimeout``.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await keepAlive()
                // Only a cancelled sleep throws, and the loop's condition checks that.
                try? await Task.sleep(for: configuration.keepAliveInterval / 2)
            }
        }
        await shutDown()
    }

    /// Stops lending permanently: later calls get ``PostgresError/Code/closed``. Waits for the loans, at most
    /// ``Configuration/shutdownTimeout``. ``run()`` calls it at its end.
    package func shutDown() async {
        pool.shutDown()
        reserve.shutDown()
        await pool.drain(timeout: configuration.shutdownTimeout)
        await reserve.drain(timeout: configuration.shutdownTimeout)
    }

    private func keepAlive() async {
        for pool in [pool, reserve] { await keepAlive(pool) }
    }

    private func keepAlive(_ pool: Pool) async {
        let limit = ContinuousClock.now - configuration.keepAliveInterval
        while let session = pool.takeIdle(since: limit) {
            let deadline = ContinuousClock.now + configuration.connectTimeout
            do {
                _ = try await session.run([Query("SELECT 1").statement], until: deadline)
                pool.release(session)
            } catch {
                // It has closed itself. The next caller opens a new one and reports any problem.
                logger.debug("a resting connection had broken", metadata: ["postgres.error": "\(error)"])
                session.close()
                pool.freeSlot()
            }
        }
    }
}
