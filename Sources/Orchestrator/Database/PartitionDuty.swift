import Logging
import Postgres
import ServiceLifecycle

/// Makes the partitions of the coming days and drops those that are too old; one daemon at a time.
struct PartitionDuty: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(600)

    /// The tables that have partitions.
    static let tables = ["events", "timeline"]

    var description: String { "partition-duty" }

    func run() async {
        await repeating("tend partitions", every: Self.interval, logger: orchestrator.logger) { await tend() }
    }

    /// Rows that find no partition go to the default one, so a failure costs nothing but a warning.
    private func tend() async {
        for name in Self.tables {
            let table = PartitionedTable(name: name, retention: orchestrator.settings.eventRetention)
            do {
                try await orchestrator.database.withTransaction { try await table.tend(on: $0) }
            } catch {
                orchestrator.logger.failed("cannot tend partitions", error, ["postgres.table": "\(table.name)"])
            }
        }
    }
}
