import ActivityModel
import HTTP2Engine
import Logging
import Reactor
import TLSEngine
import Testing

@testable import APNSTransport

@Suite("The works that have something to send", .timeLimit(.minutes(1)))
struct ReadyQueueTests {
    private static func work(_ tokens: Int, deadline: ContinuousClock.Instant = .now) throws -> Work {
        Work(
            head: .channelList(bundleID: try #require(BundleID("com.example.app"))),
            providerToken: ProviderToken(text: "", issuedAt: 0),
            tokens: ClientWorld.tokens(tokens),
            body: nil,
            deadline: deadline,
            completion: { _ in }
        )
    }

    @Test("all have their turn, and what is let go leaves the others in the queue")
    func removal() throws {
        var queue = ReadyQueue()
        let works = try (1...5).map { try Self.work($0) }
        for work in works { queue.add(work) }
        queue.add(works[0])
        #expect(queue.waiting == 15)
        for gone in [1, 4, 1] { queue.remove(works[gone]) }
        #expect(queue.waiting == 8)
        let turns = Set((0..<3).compactMap { _ in queue.next()?.ledger.count })
        #expect(turns == [1, 3, 4])
        queue.add(works[1])
        #expect(queue.waiting == 10)
        for work in works { work.ledger.settleWaiting(PushOutcome(.notSent)) }
        #expect(queue.next() == nil)
        #expect(queue.isEmpty)
        queue.remove(works[0])
    }

    @Test("works that end while there is no connection leave nothing behind")
    func withoutConnection() async throws {
        let loop = try EventLoop(name: "test-pool")
        let pool = LoopBound(
            sending: ConnectionPool(
                key: ConnectionPool.Key(
                    environment: .sandbox,
                    // Nobody listens there.
                    endpoint: APNSEndpoint(host: "127.0.0.1", port: 1),
                    identity: try testIdentity()
                ),
                loop: loop,
                context: try TLSContext.client(caFile: nil),
                configuration: .quick,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                report: { _ in }
            ),
            to: loop
        )
        let left = await withCheckedContinuation { continuation in
            loop.execute {
                let pool = pool.value
                // A work that is not made shows in the count.
                let works = (0..<3).compactMap { _ in try? Self.work(9, deadline: .now + .seconds(60)) }
                for work in works { pool.submit(work) }
                let before = pool.ready.all.count
                for work in works { pool.expire(work) }
                pool.close()
                continuation.resume(returning: [before, pool.ready.all.count, pool.works.count])
            }
        }
        #expect(left == [3, 0, 0])
        await loop.shutDown()
    }
}
