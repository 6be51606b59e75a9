package import ActivityModel
import JSON

/// A summary of the timeline: the state of an activity, or of one device in it.
package struct Verdict: Sendable, Hashable {
    /// A word for programs. The set is open; `docs/reference/verdicts.md` lists it.
    package var code: String
    /// The same for people, in whole sentences.
    package var text: String

    package init(code: String, text: String) {
        self.code = code
        self.text = text
    }
}

/// One thing that happened to an activity.
package struct TimelineEntry: Sendable, Hashable {
    package var at: Instant
    /// What happened. The set is open; `docs/reference/verdicts.md` lists it.
    package var kind: String
    /// The same for people, in one sentence.
    package var text: String
    /// The device that it happened to; nil if it concerns all.
    package var deviceID: DeviceID?
    package var revision: Revision?
    /// The kind of push or request: `start`, `update`, `end`, `alert`, `wake`.
    package var event: String?
    package var urgency: Urgency?
    /// Whether the change had an alert.
    package var hasAlert: Bool?
    package var mustDeliver: Bool?
    /// The `aps` timestamp, in UNIX seconds.
    package var timestamp: Timestamp?
    /// The newer revision that was sent instead of this one.
    package var mergedInto: Revision?
    /// The budget that the phones share: `ordinary`, `frequent` or `channel`.
    package var budgetClass: String?
    /// The `apns-priority`.
    package var priority: Int?
    /// The effect of APNs' answer on the destination, such as `accepted` or `token_dead`.
    package var outcome: String?
    /// The HTTP status; nil without an answer.
    package var status: Int?
    /// The reason: a word of Apple's or Tally's.
    package var reason: String?
    /// The reason as a sentence, with the figures at that time.
    package var explanation: String?
    package var apnsID: String?
    /// Finds the push in the delivery log of Apple's Push Notifications Console.
    package var apnsUniqueID: String?
    /// The time from sending the push to its answer.
    package var latencyMilliseconds: Double?
    /// The partition (ring) of a batch; -1: the channel.
    package var segment: Int?
    /// The number of a batch's pushes for each kind of answer.
    package var counts: [String: Int]?
    /// The `X-Request-Id` of the request that made the change. Entries about its pushes have it, too.
    package var requestID: String?
    /// The W3C trace context of that request.
    package var traceParent: String?

    package init(at: Instant, kind: String, text: String = "") {
        self.at = at
        self.kind = kind
        self.text = text
    }
}

/// The history of an activity, or of one device in it: one page, newest first, with a summary.
package struct TimelineAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    /// The device that the request named.
    package var deviceID: DeviceID?
    package var state: ActivityState
    package var revision: Revision
    package var verdict: Verdict
    package var page: Page<TimelineEntry>

    package init(
        activityID: ActivityID,
        deviceID: DeviceID? = nil,
        state: ActivityState,
        revision: Revision,
        verdict: Verdict,
        page: Page<TimelineEntry>
    ) {
        self.activityID = activityID
        self.deviceID = deviceID
        self.state = state
        self.revision = revision
        self.verdict = verdict
        self.page = page
    }
}

// MARK: JSON

extension Verdict: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("code", .string, \.code)
        required("text", .string, \.text)
    }
}

extension TimelineEntry: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(at: $0, kind: $1, text: $2) }) {
        required("at", .time, \.at)
        required("kind", .string, \.kind)
        optional("device_id", .deviceID, \.deviceID)
        optional("revision", .int64, \.revision)
        optional("event", .string, \.event)
        optional("urgency", .word(Urgency.self), \.urgency)
        optional("alert", .bool, \.hasAlert)
        optional("must_deliver", .bool, \.mustDeliver)
        optional("timestamp", .int64, \.timestamp)
        optional("merged_into", .int64, \.mergedInto)
        optional("class", .string, \.budgetClass)
        optional("priority", .int, \.priority)
        optional("outcome", .string, \.outcome)
        optional("status", .int, \.status)
        optional("reason", .string, \.reason)
        optional("explanation", .string, \.explanation)
        optional("apns_id", .string, \.apnsID)
        optional("apns_unique_id", .string, \.apnsUniqueID)
        optional("latency_milliseconds", .double, \.latencyMilliseconds)
        optional("segment", .int, \.segment)
        optional("counts", .map("A word", { $0 }, { $0 }, of: .int), \.counts)
        optional("request_id", .string, \.requestID)
        optional("traceparent", .string, \.traceParent)
        required("text", .string, \.text)
    }
}

extension TimelineAnswer: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(activityID: $0, state: $1, revision: $2, verdict: $3, page: Page(items: $4))
    }) {
        required("activity_id", .activityID, \.activityID)
        optional("device_id", .deviceID, \.deviceID)
        required("state", .word(ActivityState.self), \.state)
        required("revision", .int64, \.revision)
        required("verdict", .object(Verdict.self), \.verdict)
        required("items", .list(of: .object(TimelineEntry.self)), \.page.items)
        // Null after the last page.
        nullable("next_cursor", .string, \.page.nextCursor)
    }
}
