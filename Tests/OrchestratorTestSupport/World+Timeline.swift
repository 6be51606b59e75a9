package import APITypes
import ActivityModel
package import Logging
import Record

@testable import Orchestrator
@testable import Store

extension World {
    /// Asks for the story, after everything that is known has been written.
    package func explain(
        _ device: String? = nil,
        of id: String = "final",
        _ page: PageRequest = PageRequest()
    ) async throws -> TimelineAnswer {
        try await writeTimeline()
        return try await orchestrator.timeline(
            app,
            ActivityID(stored: id),
            device: device.map { DeviceID(stored: $0) },
            page
        )
    }

    /// Writes what the timeline has taken down so far, as the daemon does a moment later.
    package func writeTimeline(_ logger: Logger? = nil) async throws {
        try await TimelineWriter(
            timeline: orchestrator.store.timeline,
            database: database,
            logger: logger ?? orchestrator.logger
        ).write()
    }
}
