import OrchestratorTestSupport
import Postgres
import Testing

@testable import Store

@Suite("Partitions") struct PartitionTests {
    private let table = PartitionedTable(name: "events", retention: .seconds(7 * 86_400))

    private func tend(_ world: World) async throws {
        try await world.database.withTransaction { try await table.tend(on: $0) }
    }

    /// Days from today (UTC) that have a partition.
    private func days(_ world: World) async throws -> [Int64] {
        try await world.database.query(
            """
            SELECT (to_date(substring(c.relname FROM '[0-9]{8}$'), 'YYYYMMDD')
                    - (clock_timestamp() AT TIME ZONE 'UTC')::date)::bigint AS day
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'events'::regclass AND c.relname ~ '[0-9]{8}$' ORDER BY day
            """
        ).decoded(as: Int64.self)
    }

    private func insert(_ world: World, daysAgo days: Int32) async throws {
        _ = try await world.database.execute(
            "INSERT INTO events (kind, at) VALUES ('test', clock_timestamp() - \(days) * interval '24 hours')"
        )
    }

    private func places(_ world: World) async throws -> [String] {
        try await world.database.query("SELECT DISTINCT tableoid::regclass::text FROM events ORDER BY 1")
            .decoded(as: String.self)
    }

    @Test("Partitions are made ahead, and only once") func partitionsAreMadeAheadAndOnlyOnce() async throws {
        try await withWorld { world in
            try await tend(world)
            #expect(try await days(world) == [0, 1, 2, 3])
            try await tend(world)
            #expect(try await days(world) == [0, 1, 2, 3])
        }
    }

    @Test("Events that found no partition are moved to theirs") func eventsThatFoundNoPartitionAreMovedToTheirs()
        async throws
    {
        try await withWorld { world in
            try await insert(world, daysAgo: 0)
            #expect(try await places(world) == ["events_default"])
            try await tend(world)
            #expect(try await places(world).allSatisfy { $0 != "events_default" })
            #expect(try await world.number("SELECT count(*) FROM events") == 1)
        }
    }

    /// A day goes when its youngest event is older than the retention, and no earlier.
    @Test("Old days are dropped and younger ones are kept") func oldDaysAreDroppedAndYoungerOnesKept() async throws {
        try await withWorld { world in
            for days in Int32(6)...9 {
                let day = try #require(
                    try await world.word(
                        """
                        SELECT to_char((clock_timestamp() - \(days) * interval '24 hours') AT TIME ZONE 'UTC', 'YYYYMMDD')
                        """
                    )
                )
                try await world.database.execute(
                    Query(
                        unescaped: """
                            CREATE TABLE events_\(day) PARTITION OF events
                            FOR VALUES FROM ('\(day) 00:00:00+00') TO ('\(day) 24:00:00+00')
                            """
                    )
                )
                try await insert(world, daysAgo: days)
            }
            try await tend(world)
            #expect(try await days(world) == [-7, -6, 0, 1, 2, 3])
            #expect(try await world.number("SELECT count(*) FROM events") == 2)
        }
    }

    @Test("Old events without a partition go too") func oldEventsWithoutAPartitionGoToo() async throws {
        try await withWorld { world in
            try await insert(world, daysAgo: 8)
            try await insert(world, daysAgo: 5)
            try await tend(world)
            #expect(try await world.number("SELECT count(*) FROM events") == 1)
        }
    }

    @Test("An event that comes while its day gets a partition waits, and is stored there")
    func eventsThatComeMeanwhileAreStored() async throws {
        try await withWorld { world in
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    try await table.tend(on: connection)
                    group.addTask { try await insert(world, daysAgo: 0) }
                    try await world.someoneWaits(for: "relation")
                }
                try await group.waitForAll()
            }
            #expect(try await places(world).allSatisfy { $0 != "events_default" })
            #expect(try await world.number("SELECT count(*) FROM events") == 1)
        }
    }

    @Test("A second daemon leaves it to the first") func aSecondDaemonLeavesItToTheFirst() async throws {
        try await withWorld { world in
            try await world.database.withTransaction { first in
                try await table.tend(on: first)
                try await tend(world)
                #expect(try await days(world).isEmpty, "nothing is committed yet, and nobody waited")
            }
            #expect(try await days(world) == [0, 1, 2, 3])
        }
    }
}
