import ActivityModel
import Logging

/// The log's lines of what APNs answered, so that one gets from a request to its pushes and back: in the log as well as
/// in the timeline and the events.
struct AnswerLog {
    private struct Change: Hashable {
        let activityKey: Int64
        let revision: Revision
    }

    private struct Request {
        let activity: ActivityNames
        let origin: RequestOrigin
    }

    /// The requests that brought the changes.
    private var requests: [Change: Request] = [:]

    init(_ answers: [PushCounts.Subject: AnsweredPushes]) {
        for (subject, pushes) in answers {
            guard let revision = subject.revision, let origin = pushes.origin else { continue }
            requests[Change(activityKey: subject.activityKey, revision: revision)] = Request(
                activity: pushes.activity,
                origin: origin
            )
        }
    }

    /// One line for each row whose change came with a request: a push with the id that APNs gave it, or a batch with
    /// how often each answer came.
    func write(_ rows: [TimelineRow], to logger: Logger) {
        for row in rows {
            guard let revision = row.revision, let event = row.event,
                let request = requests[Change(activityKey: row.activityKey, revision: revision)]
            else { continue }
            var facts: Logger.Metadata = [
                "request.id": "\(request.origin.requestID)", "app": "\(request.activity.app)",
                "activity.id": "\(request.activity.id)", "revision": "\(revision)", "event": "\(event.rawValue)",
            ]
            facts["trace.id"] = request.origin.trace.map { "\($0.traceID)" }
            facts["trace.parent_span"] = request.origin.trace.map { "\($0.spanID)" }
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
