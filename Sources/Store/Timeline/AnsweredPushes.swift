import ActivityModel
import JSON

/// How the pushes of one subject were answered, with the names under which that is told.
struct AnsweredPushes: Sendable {
    let activity: ActivityNames
    /// The request that brought the change.
    let origin: RequestOrigin?
    var counts: PushCounts

    /// The event that stands for all of them.
    func event(of subject: PushCounts.Subject) -> EventRows.Named {
        let answers = counts.answers
        var detail: JSONObject = [
            "event": .string(subject.event.rawValue), "priority": .number(JSONNumber(subject.priority.rawValue)),
            "destination": subject.isBroadcast ? "channel" : "devices",
            "pushes": .number(JSONNumber(answers.values.reduce(0, +))),
            "answers": .object(JSONObject(answers.sorted { $0.key < $1.key }.map { ($0, .number(JSONNumber($1))) })),
        ]
        if let revision = subject.revision { detail["revision"] = .number(JSONNumber(revision)) }
        if let origin { detail["request_id"] = .string(origin.requestID) }
        if let trace = origin?.trace { detail["traceparent"] = .string(trace.description) }
        return EventRows.Named(kind: .pushesAnswered, activity: activity, detail: detail)
    }
}
