import Logging
import Postgres
import ServiceLifecycle

/// Makes the partitions of the coming days and drops those that are too old; one daemon at a time.
struct PartitionDuty: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(600)

    private var tables: [PartitionedTable] {
        ["events", "timeline"].map {
            PartitionedTable(name: $0, retention: orchestrator.settings.eventRetention)
        }
    }

    var description: String { "partition-duty" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await tend()
                try? await Task.sleep(for: Self.interval)  // throws only when cancelled
            }
        }
    }

    /// Rows that find no partition go to the default one, so a failure costs nothing but a warning.
    private func tend() async {
        for table in tables {
            do {
                try await orchestrator.database.withTransaction { try await table.tend(on: $0) }
            } catch {
                orchestrator.logger.warning(
                    "cannot tend partitions",
                    metadata: ["postgres.table": "\(table.name)", "error": "\(error)"]
                )
            }
        }
    }
}
