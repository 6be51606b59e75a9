import ActivityModel
import JSON
import Logging
import Postgres

/// By which requests the changes came that are about to be told of, so that one gets from a request to what APNs
/// answered, and back: in the log and in the events as well as in the timeline.
struct ChangeOrigins {
    private struct Change: Hashable {
        let activityKey: Int64
        let revision: Revision
    }

    private struct Found {
        let origin: RequestOrigin
        let app: String
        let activity: String
    }

    private var found: [Change: Found] = [:]

    /// The statement whose rows ``init(_:)`` reads.
    static func selection(for waiting: Timeline.Waiting) -> Query {
        var changes: Set<Change> = []
        for row in waiting.rows {
            if let revision = row.revision { changes.insert(Change(activityKey: row.activityKey, revision: revision)) }
        }
        for subject in waiting.answers.keys {
            guard let revision = subject.revision else { continue }
            changes.insert(Change(activityKey: subject.activityKey, revision: revision))
        }
        let list = Array(changes)
        return """
            SELECT c.activity_key, c.revision, c.request_id, c.traceparent, a.bundle_id, a.activity_id
            FROM unnest(\(list.map(\.activityKey)), \(list.map(\.revision))) AS u(activity_key, revision)
            JOIN changes AS c USING (activity_key, revision) JOIN activities AS a USING (activity_key)
            WHERE c.request_id IS NOT NULL
            """
    }

    init(_ rows: Rows) throws {
        for (key, revision, requestID, trace, app, activity) in try rows.decoded(
            as: (Int64, Int64, String?, String?, String, String).self
        ) {
            guard let origin = RequestOrigin(stored: requestID, trace) else { continue }
            found[Change(activityKey: key, revision: revision)] = Found(origin: origin, app: app, activity: activity)
        }
    }

    /// The request that brought the change whose pushes were counted.
    func origin(of subject: PushCounts.Subject) -> RequestOrigin? {
        subject.revision.flatMap { found[Change(activityKey: subject.activityKey, revision: $0)]?.origin }
    }

    /// One line for each row: a push with the id that APNs gave it, or a batch with how often each answer came.
    func log(_ rows: [TimelineRow], to logger: Logger) {
        guard logger.logLevel <= .debug else { return }
        for row in rows {
            guard let revision = row.revision, let event = row.event,
                let change = found[Change(activityKey: row.activityKey, revision: revision)]
            else { continue }
            var facts: Logger.Metadata = [
                "request.id": "\(change.origin.requestID)", "app": "\(change.app)", "activity.id": "\(change.activity)",
                "revision": "\(revision)", "event": "\(event.rawValue)",
            ]
            facts["trace.id"] = change.origin.trace.map { "\($0.traceID)" }
            facts["trace.parent_span"] = change.origin.trace.map { "\($0.spanID)" }
            facts["apns.id"] = row.apnsID.map { "\($0)" }
            facts["apns.status"] = row.status.map { "\($0)" }
            facts["apns.reason"] = row.reason.map { "\($0)" }
            facts["apns.answers"] = row.counts.map { counts in
                "\(counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))"
            }
            logger.debug(row.kind == .batch ? "pushes answered" : "push answered", metadata: facts)
        }
    }
}
