import Logging
import Postgres
import ServiceLifecycle

/// Makes the partitions of the coming days and drops those that are too old; one daemon at a time.
package struct PartitionDuty: Service, CustomStringConvertible {
    let store: Store

    private static let interval = Duration.seconds(600)

    /// The tables that have partitions.
    package static let tables = ["events", "timeline"]

    package var description: String { "partition-duty" }

    func run() async {
        await repeating("tend partitions", every: Self.interval, logger: store.logger) { await tend() }
    }

    /// Rows that find no partition go to the default one, so a failure costs nothing but a warning.
    private func tend() async {
        for name in Self.tables {
            let table = PartitionedTable(name: name, retention: store.settings.eventRetention)
            do {
                try await store.database.withTransaction { try await table.tend(on: $0) }
            } catch {
                store.logger.failed("cannot tend partitions", error, ["postgres.table": "\(table.name)"])
            }
        }
    }
}
