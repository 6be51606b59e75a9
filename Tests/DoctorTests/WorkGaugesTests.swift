import APITypes
import DeliveryStore
import MetricsTestKit
import OrchestratorTestSupport
import Postgres
import ReportTypes
import TestSupport
import Testing

@testable import Doctor
@testable import Orchestrator

@Suite("Gauges of the work", .timeLimit(.minutes(2)))
struct WorkGaugesTests {
    @Test("A look at the work that fails says nothing of whether the database can be reached")
    func reachable() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let gauges = WorkGauges(store: world.orchestrator.store, metrics: metrics)
            try await gauges.update()
            #expect(try metrics.expectGauge("tally_leases_held").lastValue == 0)
            try await world.tables.breakWork()
            await #expect(throws: PostgresError.self) { try await gauges.update() }
            #expect(try metrics.expectGauge("tally_database_reachable").lastValue == 1)
        }
    }

    @Test("A database that does not answer is told as out of reach")
    func unreachable() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let away = StatementGate { (_) async throws(PostgresError) in throw PostgresError(.connectionLost) }
            let gauges = WorkGauges(store: world.sibling(behind: away).orchestrator.store, metrics: metrics)
            await #expect(throws: PostgresError.self) { try await gauges.update() }
            let reachable = try metrics.expectGauge("tally_database_reachable").lastValue
            #expect(reachable == 0)
        }
    }

    @Test("A database that refuses to write is told in the gauge, to operators and by the doctor")
    func readOnly() async throws {
        try await withWorld(connections: 1) { world in
            let metrics = TestMetrics()
            let gauges = WorkGauges(store: world.orchestrator.store, metrics: metrics)
            try await gauges.update()
            #expect(try metrics.expectGauge("tally_database_writable").lastValue == 1)
            #expect(try await world.orchestrator.warnings().isEmpty)
            let error = await #expect(throws: PostgresError.self) {
                try await world.database.withConnection { connection in
                    try await connection.execute("SET default_transaction_read_only = on")
                    try await connection.execute("CREATE TABLE refused ()")
                }
            }
            #expect(error.flatMap { world.orchestrator.problem(for: $0) }?.code == "unavailable")
            try await gauges.update()
            #expect(try metrics.expectGauge("tally_database_writable").lastValue == 0)
            #expect(try await world.orchestrator.warnings().first?.hasPrefix("The database is read-only.") == true)
            let report = await world.orchestrator.examine(DoctorRequest(), installation: true)
            let check = try #require(report.checks.first { $0.check == "database_writes" })
            #expect(check.verdict == .broken)
            #expect(check.finding.contains("25006"))
            #expect(check.advice?.contains("primary") == true)
        }
    }

    @Test("Segments at rest are not read, however many there are; what is leased is counted as held")
    func rest() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start(to: World.devices("d1"))
            _ = try await world.orchestrator.deliveryStore.segments.claim(limit: 1)
            try await world.tables.addParts(3000)
            let before = try await world.tables.workRowsRead()
            let facts = try await WorkFacts.read(app: nil, from: world.database)
            #expect(facts.held == 1)
            #expect(try await world.tables.workRowsRead() - before < 100)
        }
    }
}
