import APITypes
import ActivityModel
import JSON
import Postgres
import Synchronization
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import Orchestrator
@testable import Registry
@testable import Store

@Suite("Running activities after a change of their type's versions", .timeLimit(.minutes(2)))
struct RejudgementTests {
    private static let count = 2 * FollowerPage.size + 10

    /// Activities whose newest state apps of version 2.1 decode as long as there is one version of the type.
    private func addFollowed(_ world: World) async throws {
        _ = try await world.database.execute(
            """
            WITH running AS (
                INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes,
                    start_body, started_at)
                SELECT \(world.app.rawValue), 'game-' || n, 'production', 'Game', 'tokens', 'live', '{"home": "Ajax"}', '{}', now()
                FROM generate_series(1, \(Self.count)) AS n
                RETURNING activity_key
            ), followers AS (
                INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
                SELECT activity_key, '2.1', false, 1 FROM running
            )
            INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
            SELECT activity_key, 1, 'start', '{"score": 0}', 'routine', now() FROM running
            """
        )
        try await world.tables.addWork()
    }

    private func withheld(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(*) FROM activity_app_versions WHERE is_withheld")
    }

    /// A daemon that is lost after so many commits.
    private func dying(_ world: World, after commits: Int) -> World {
        let count = Mutex(0)
        return world.sibling(
            behind: StatementGate { (moment) async throws(PostgresError) in
                let isDead = count.withLock { count in
                    if moment == .afterCommit { count += 1 }
                    return count >= commits && moment != .afterCommit
                }
                if isDead { throw PostgresError(.connectionLost) }
            }
        )
    }

    @Test("All are judged by a new version, in transactions of bounded size")
    func pages() async throws {
        try await withWorld { world in
            try await addFollowed(world)
            try await world.registerVersion(force: true)
            #expect(try await withheld(world) == Int64(Self.count))
            let largest: Query = """
                SELECT max(rows) FROM (SELECT count(*) AS rows FROM activity_app_versions GROUP BY xmin::text) AS t
                """
            #expect(try await world.number(largest) == Int64(FollowerPage.size))
            #expect(try await world.number("SELECT count(*) FROM rejudgements") == 0)
            #expect(try await world.events(.incompatibleVersion).count == Self.count)
            // And back.
            try await world.registerVersion(from: "3.0")
            #expect(try await withheld(world) == 0)
        }
    }

    @Test("A version that would withhold the newest state of one of many is refused, and changes none")
    func refused() async throws {
        try await withWorld { world in
            try await addFollowed(world)
            _ = try await world.database.execute(
                "UPDATE activity_app_versions SET app_version = '1.0' WHERE activity_key < (SELECT max(activity_key) FROM activities)"
            )
            let refusal = try await problem { try await world.registerVersion() }
            #expect(refusal?.code == "incompatible_schema")
            #expect(try await withheld(world) == 0)
            #expect(try await world.number("SELECT count(*) FROM rejudgements") == 0)
        }
    }

    @Test("What a daemon that has died left is judged by another", arguments: [1, 2])
    func diesBetween(commits: Int) async throws {
        try await withWorld { world in
            try await addFollowed(world)
            await #expect(throws: PostgresError.self) {
                try await dying(world, after: commits).registerVersion(force: true)
            }
            #expect(try await withheld(world) == Int64((commits - 1) * FollowerPage.size))
            try await Rejudgement.goOn(world.orchestrator.registry)
            #expect(try await withheld(world) == Int64(Self.count))
            #expect(try await world.number("SELECT count(*) FROM rejudgements") == 0)
        }
    }

    @Test("A state that is accepted while its activity is judged stands as it was judged then")
    func acceptedMeanwhile() async throws {
        try await withWorld { world in
            try await world.install("2.1", on: "new")
            try await world.start()
            try await world.follow("new", token: "aa01")
            try await world.settle()
            // Of the page that follows the change of the type: when the state has been read and judged.
            let statements = Mutex((hasChanged: false, count: 0))
            let other = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    let isTime = statements.withLock { statements in
                        if moment == .afterCommit { statements.hasChanged = true }
                        if moment == .inTransaction, statements.hasChanged { statements.count += 1 }
                        return moment == .inTransaction && statements.count == Self.lock
                    }
                    if isTime { await #expect(throws: Never.self) { try await world.updateBoth(score: 5) } }
                }
            )
            try await other.registerVersion(force: true)
            #expect(statements.withLock { $0.count } > Self.lock)
            #expect(try await withheld(world) == 0)
            #expect(try await world.subscription("new") == "riding")
        }
    }

    /// The versions, the locks, the page, the states, and the lock of the activities.
    private static let lock = 5
}
