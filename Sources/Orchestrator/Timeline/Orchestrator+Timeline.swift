package import APITypes
package import ActivityModel
import Postgres

extension Orchestrator {
    /// The story of an activity, or of one device's part in it: the newest entries first, and what it comes to.
    ///
    /// What happened a moment ago may still be missing. A device that is not known is told of, not refused: that it is
    /// not known is the answer.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a cursor of another list.
    package func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        _ page: PageRequest
    ) async throws -> TimelineAnswer {
        let (subject, entries, story) = try await database.withConnection { connection in
            let subject = try await TimelineSubject.read(app, id, device, on: connection)
            let entries = try await TimelineEntries(subject: subject, page: page).read(on: connection)
            let story = device == nil ? nil : try await DeviceStory.read(subject, on: connection)
            return (subject, entries, story)
        }
        let verdict =
            if let story {
                DeviceVerdict.of(story)
            } else {
                ActivityVerdict.of(try await activity(app, id), isHalted: subject.activity.isHalted)
            }
        return TimelineAnswer(
            activityID: id,
            deviceID: device,
            state: subject.activity.state,
            revision: subject.activity.newest,
            verdict: verdict,
            page: entries
        )
    }
}
