package import ActivityModel
package import JSON

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

    package init(at: Instant, kind: String, text: String = "") {
        self.at = at
        self.kind = kind
        self.text = text
    }
}

/// What one class of destinations has spent of its budget.
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

extension TimelineEntry: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let at = reader.required("at", .time)
        let kind = reader.required("kind", .string)
        let text = reader.required("text", .string)
        var entry = TimelineEntry(at: at ?? Instant(microseconds: 0), kind: kind ?? "", text: text ?? "")
        entry.deviceID = reader.optional("device_id", .deviceID)
        entry.revision = reader.optional("revision", .int64)
        entry.event = reader.optional("event", .string)
        entry.urgency = reader.optional("urgency", .word(Urgency.self))
        entry.hasAlert = reader.optional("alert", .bool)
        entry.mustDeliver = reader.optional("must_deliver", .bool)
        entry.timestamp = reader.optional("timestamp", .int64)
        entry.mergedInto = reader.optional("merged_into", .int64)
        entry.budgetClass = reader.optional("class", .string)
        entry.priority = reader.optional("priority", .int)
        entry.outcome = reader.optional("outcome", .string)
        entry.status = reader.optional("status", .int)
        entry.reason = reader.optional("reason", .string)
        entry.explanation = reader.optional("explanation", .string)
        entry.apnsID = reader.optional("apns_id", .string)
        entry.apnsUniqueID = reader.optional("apns_unique_id", .string)
        entry.latencyMilliseconds = reader.optional("latency_milliseconds", .double)
        entry.delayMilliseconds = reader.optional("delay_milliseconds", .int64)
        entry.segment = reader.optional("segment", .int)
        entry.counts = reader.optional("counts", .map("A word", { $0 }, name: { $0 }, of: .int))
        entry.requestID = reader.optional("request_id", .string)
        entry.traceParent = reader.optional("traceparent", .string)
        guard reader.finish() else { return nil }
        self = entry
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("at", at)
        fields.add("kind", kind)
        fields.add("device_id", deviceID?.rawValue)
        fields.add("revision", revision)
        fields.add("event", event)
        fields.add("urgency", urgency?.rawValue)
        fields.add("alert", hasAlert)
        fields.add("must_deliver", mustDeliver)
        fields.add("timestamp", timestamp)
        fields.add("merged_into", mergedInto)
        fields.add("class", budgetClass)
        fields.add("priority", priority)
        fields.add("outcome", outcome)
        fields.add("status", status)
        fields.add("reason", reason)
        fields.add("explanation", explanation)
        fields.add("apns_id", apnsID)
        fields.add("apns_unique_id", apnsUniqueID)
        fields.add("latency_milliseconds", latencyMilliseconds)
        fields.add("delay_milliseconds", delayMilliseconds)
        fields.add("segment", segment)
        fields.add("counts", counts.map(Self.json))
        fields.add("request_id", requestID)
        fields.add("traceparent", traceParent)
        fields.add("text", text)
        return fields.json
    }

    private static func json(_ counts: [String: Int]) -> JSONObject {
        JSONObject(counts.sorted { $0.key < $1.key }.map { ($0.key, .number(JSONNumber($0.value))) })
    }
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
