import APNSTransport
import ActivityModel
import JSON

/// How pushes were answered, counted; for the event that stands for all of them.
struct PushCounts: Sendable, Hashable {
    /// What is counted together.
    struct Subject: Sendable, Hashable {
        let activityKey: Int64
        let event: TimelineRow.Event
        let revision: Revision?
        let priority: PushPriority
        let isBroadcast: Bool

        init(_ sending: TimelineSending) {
            activityKey = sending.activityKey
            event = sending.event
            revision = sending.revision
            priority = sending.priority
            isBroadcast = sending.segment == SegmentLease.channelSegment
        }
    }

    /// How often each answer came: a status, with Apple's word or ours where it has one.
    private(set) var answers: [String: Int] = [:]

    init() {}

    init(_ batch: BatchOutcome) {
        if batch.accepted > 0 { answers["200"] = batch.accepted }
        for exception in batch.exceptions { answers[Self.word(exception.outcome), default: 0] += 1 }
    }

    init(_ outcome: PushOutcome) {
        answers[Self.word(outcome)] = 1
    }

    /// The words of an outcome, cut where they came from outside and are too long.
    static func word(_ outcome: PushOutcome) -> String {
        outcome.isAccepted ? "200" : String(outcome.words.prefix(TimelineSending.longestReason))
    }

    static func + (left: PushCounts, right: PushCounts) -> PushCounts {
        var sum = left
        sum += right
        return sum
    }

    static func += (left: inout PushCounts, right: PushCounts) {
        left.answers.merge(right.answers) { $0 + $1 }
    }

    /// The event that tells of them, and by which request the change came.
    func event(of subject: Subject, from origin: RequestOrigin?) -> Event {
        var detail: JSONObject = [
            "event": .string(subject.event.rawValue), "priority": .number(JSONNumber(subject.priority.rawValue)),
            "destination": subject.isBroadcast ? "channel" : "devices",
            "pushes": .number(JSONNumber(answers.values.reduce(0, +))),
            "answers": .object(JSONObject(answers.sorted { $0.key < $1.key }.map { ($0, .number(JSONNumber($1))) })),
        ]
        if let revision = subject.revision { detail["revision"] = .number(JSONNumber(revision)) }
        if let origin { detail["request_id"] = .string(origin.requestID) }
        if let trace = origin?.trace { detail["traceparent"] = .string(trace.description) }
        return Event(.pushesAnswered, of: .activity(key: subject.activityKey), detail)
    }
}
