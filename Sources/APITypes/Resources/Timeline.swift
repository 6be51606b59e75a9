package import ActivityModel
package import JSON

/// A summary of the timeline: the state of an activity, or of one device in it.
package struct Verdict: Sendable, Hashable {
    /// A word for programs. The set is open; `docs/reference/verdicts.md` lists it.
    package var code: String
    /// The same for people, in whole sentences.
    package var text: String

    package init(_ code: String, _ text: String) {
        self.code = code
        self.text = text
    }
}

/// One thing that happened to an activity.
package struct TimelineEntry: Sendable, Hashable {
    package var at: Instant
    /// What happened. The set is open; `docs/reference/verdicts.md` lists it.
    package var kind: String
    /// The device that it happened to; nil if it concerns all.
    package var deviceID: DeviceID?
    package var revision: Revision?
    /// The kind of push or request: `start`, `update`, `end`, `alert`, `wake`, `continued`.
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
    /// The time from the accept of the revision until the card showed it, at the latest.
    package var delayMilliseconds: Int64?
    /// The partition (ring) of a batch; -1: the channel.
    package var segment: Int?
    /// The number of a batch's pushes for each kind of answer.
    package var counts: [String: Int]?
    /// The `X-Request-Id` of the request that made the change. Entries about its pushes have it, too.
    package var requestID: String?
    /// The W3C trace context of that request.
    package var traceParent: String?
    /// What happened, for people, in one sentence.
    package var text: String
}

extension TimelineEntry {
    package init(at: Instant, kind: String, text: String = "") {
        self.at = at
        self.kind = kind
        self.text = text
    }
}

/// The budget that one class of destinations has spent.
package struct BudgetUse: Sendable, Hashable {
    package var budgetClass: String
    /// The changes that were sent at priority 10 within the window.
    package var spent: Int
    /// The changes that the policy allows at priority 10 within the window.
    package var units: Int
    package var windowSeconds: Int

    package init(budgetClass: String, spent: Int, units: Int, windowSeconds: Int) {
        self.budgetClass = budgetClass
        self.spent = spent
        self.units = units
        self.windowSeconds = windowSeconds
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
    /// The budget of each class that has spent of it within the window.
    package var budget: [BudgetUse]
    package var page: Page<TimelineEntry>

    package init(
        activityID: ActivityID,
        deviceID: DeviceID? = nil,
        state: ActivityState,
        revision: Revision,
        verdict: Verdict,
        budget: [BudgetUse] = [],
        page: Page<TimelineEntry>
    ) {
        self.activityID = activityID
        self.deviceID = deviceID
        self.state = state
        self.revision = revision
        self.verdict = verdict
        self.budget = budget
        self.page = page
    }
}

// MARK: JSON

extension Verdict: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("code", \.code, .string),
        .required("text", \.text, .string),
        make: Self.init
    )
}

extension TimelineEntry: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("at", \.at, .time),
        .required("kind", \.kind, .string),
        .optional("device_id", \.deviceID, .deviceID),
        .optional("revision", \.revision, .int64),
        .optional("event", \.event, .string),
        .optional("urgency", \.urgency, .word(Urgency.self)),
        .optional("alert", \.hasAlert, .bool),
        .optional("must_deliver", \.mustDeliver, .bool),
        .optional("timestamp", \.timestamp, .int64),
        .optional("merged_into", \.mergedInto, .int64),
        .optional("class", \.budgetClass, .string),
        .optional("priority", \.priority, .int),
        .optional("outcome", \.outcome, .string),
        .optional("status", \.status, .int),
        .optional("reason", \.reason, .string),
        .optional("explanation", \.explanation, .string),
        .optional("apns_id", \.apnsID, .string),
        .optional("apns_unique_id", \.apnsUniqueID, .string),
        .optional("latency_milliseconds", \.latencyMilliseconds, .double),
        .optional("delay_milliseconds", \.delayMilliseconds, .int64),
        .optional("segment", \.segment, .int),
        .optional("counts", \.counts, .counts),
        .optional("request_id", \.requestID, .string),
        .optional("traceparent", \.traceParent, .string),
        .required("text", \.text, .string),
        make: Self.init
    )
}

extension BudgetUse: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("class", \.budgetClass, .string),
        .required("spent", \.spent, .int),
        .required("units", \.units, .int),
        .required("window_seconds", \.windowSeconds, .int),
        make: Self.init
    )
}

extension TimelineAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let deviceID = reader.optional("device_id", .deviceID)
        let state = reader.required("state", .word(ActivityState.self))
        let revision = reader.required("revision", .int64)
        let verdict = reader.required("verdict", .object(Verdict.self))
        let budget = reader.optional("budget", .list(of: .object(BudgetUse.self)))
        let items = reader.required("items", .list(of: .object(TimelineEntry.self)))
        let nextCursor = reader.optional("next_cursor", .string)
        guard reader.finish(), let activityID, let state, let revision, let verdict, let items else { return nil }
        self.init(
            activityID: activityID,
            deviceID: deviceID,
            state: state,
            revision: revision,
            verdict: verdict,
            budget: budget ?? [],
            page: Page(items: items, nextCursor: nextCursor)
        )
    }

    /// `next_cursor` is `null` after the last page.
    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("device_id", deviceID?.rawValue)
        fields.add("state", state.rawValue)
        fields.add("revision", revision)
        fields.add("verdict", verdict)
        fields.add("budget", budget)
        fields.add("items", page.items)
        fields.add("next_cursor", page.nextCursor.map { JSONValue.string($0) } ?? .null)
        return fields.json
    }
}
