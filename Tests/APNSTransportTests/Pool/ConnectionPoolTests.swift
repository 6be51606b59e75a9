import ActivityModel
import Logging
import Reactor
import TLSEngine
import Testing

@testable import APNSTransport

@Suite("A pool of connections")
struct ConnectionPoolTests {
    @Test("answers are a sign of life; streams that were given up are none, so that a silent server is not waited for")
    func signsOfLife() async throws {
        let loop = try EventLoop(name: "test")
        let context = try TLSContext.client(caFile: TestCertificate.caFile)
        let identity = try testIdentity()
        let decisions = try await loop.perform {
            let pool = ConnectionPool(
                key: .init(
                    environment: .sandbox,
                    endpoint: APNSEndpoint(host: "localhost", port: 1),
                    identity: identity
                ),
                loop: loop,
                context: context,
                configuration: APNSClientConfiguration(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                report: { _ in }
            )
            let now = ContinuousClock.now
            pool.growth.proved(after: .milliseconds(150))
            pool.growth.answered(after: .milliseconds(50))
            pool.growth.heard(now: now - .seconds(600))
            var connection = ConnectionStateMachine(now: now)
            connection.connected(now: now)
            connection.answered(status: 200, now: now)
            return [false, true].map { isAnswered in
                pool.hasHeard = isAnswered
                pool.streamsFreed()
                return pool.growth.decide(waiting: 500, capacity: 1000, connections: [connection], now: now) == .open
            }
        }
        #expect(decisions == [true, false])
        await loop.shutDown()
    }
}
