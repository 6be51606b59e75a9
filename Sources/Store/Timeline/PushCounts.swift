import APNSTransport
import ActivityModel

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
            activityKey = sending.activity.key
            event = sending.event
            revision = sending.revision
            priority = sending.priority
            isBroadcast = sending.segment == SegmentRows.channelSegment
        }
    }

    /// How often each answer came: a status, with Apple's word or ours where it has one.
    private(set) var answers: [String: Int] = [:]

    init(_ batch: BatchOutcome) {
        if batch.accepted > 0 { answers["200"] = batch.accepted }
        for exception in batch.exceptions { answers[Self.word(exception.outcome), default: 0] += 1 }
    }

    /// The words of an outcome, cut where they came from outside and are too long.
    static func word(_ outcome: PushOutcome) -> String {
        outcome.isAccepted ? "200" : String(outcome.words.prefix(TimelineSending.longestReason))
    }

    static func += (left: inout PushCounts, right: PushCounts) {
        left.answers.merge(right.answers) { $0 + $1 }
    }
}
