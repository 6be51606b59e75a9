import Logging
import Postgres
import Schema
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Ownership
@testable import Store

@Suite("The keeper of partitions", .timeLimit(.minutes(1)))
struct PartitionKeeperTests {
    private func keeper(_ database: Database, _ uptime: @escaping @Sendable () -> Duration) -> PartitionKeeper {
        PartitionKeeper(
            database: database,
            // No test waits for its own next look.
            interval: .seconds(600),
            uptime: uptime,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func withTables(_ body: @escaping @Sendable (Database) async throws -> Void) async throws {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        try await withDatabase(migrations: migrations) { database in try await body(database) }
    }

    @Test("Two daemons share the partitions of one database, and no partition has two owners")
    func sharing() async throws {
        try await withTables { database in
            let keepers = [keeper(database) { .zero }, keeper(database) { .zero }]
            for _ in 0..<2 { try await keepers[0].look() }
            #expect(keepers[0].owned.count == 64)
            for _ in 0..<2 { for keeper in keepers { try await keeper.look() } }
            try await keepers[1].look()
            #expect(keepers.map(\.owned.count) == [32, 32])
            #expect(Set(keepers.flatMap(\.owned)).count == 64)
        }
    }

    @Test("A daemon that was stopped for long owns nothing, and what it claims afterwards is refused")
    func takeover() async throws {
        try await withTables { database in
            let time = Mutex(Duration.zero)
            let stopped = keeper(database) { time.withLock { $0 } }
            let other = keeper(database) { time.withLock { $0 } }
            for _ in 0..<2 { try await stopped.look() }
            for _ in 0..<9 {
                time.withLock { $0 += .milliseconds(500) }
                try await other.look()
                #expect(stopped.owned.isEmpty || other.owned.isEmpty)
            }
            #expect(other.owned.count == 64)
            let daemon = try #require(stopped.ownership.withLock { $0.daemon })
            let late = try await OwnershipStore(database: database).claim([7: 1], for: daemon)
            #expect(late.isEmpty)
            try await stopped.look()
            #expect(stopped.ownership.withLock { $0.daemon } == nil)
            #expect(other.owned.count == 64)
        }
    }

    @Test("A daemon that stops hands its partitions over at once, and another one hears of it")
    func handingOver() async throws {
        try await withTables { database in
            let leaver = keeper(database) { .zero }
            let heir = keeper(database) { .zero }
            for _ in 0..<2 { try await leaver.look() }
            try await heir.look()
            #expect(heir.owned.isEmpty)
            let group = ServiceGroup(
                services: [heir],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                for await event in database.notifications(channels: [OwnershipStore.channel]) {
                    guard case .listening = event else { break }
                    while heir.ownership.withLock({ $0.daemon }) == nil { try await Task.sleep(for: .milliseconds(5)) }
                    try await leaver.leave()
                }
                while heir.owned.count < 64 { try await Task.sleep(for: .milliseconds(5)) }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            // It has left, too.
            let living = try await database.query("SELECT count(*) FROM daemons").first(as: Int64.self)
            let owned = try await database.query("SELECT count(owner) FROM partitions").first(as: Int64.self)
            #expect(living == 0)
            #expect(owned == 0)
        }
    }
}
