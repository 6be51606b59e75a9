package import ActivityModel
package import JSON

/// `POST …/activities/{id}/updates`: a new content state, sent now or at a time.
package struct UpdateRequest: Sendable, Hashable {
    package var contentState: JSONObject
    package var alert: AlertContent?
    /// Nil: the first matching rule of the policy decides, or else `routine` applies.
    package var urgency: Urgency?
    /// Whether every destination gets a separate push for this change.
    package var mustDeliver: Bool
    package var staleAfterSeconds: Int64?
    package var relevanceScore: Double?
    /// When it happened. Tally refuses a time before that of the newest accepted update. It also refuses a time more than
    /// 5 minutes in the future.
    package var eventTime: Instant?
    /// A time in the future schedules the update. A time in the past means now.
    package var at: Instant?
    /// Whether to send the update even if its state equals the newest one.
    package var force: Bool

    package init(
        contentState: JSONObject,
        alert: AlertContent? = nil,
        urgency: Urgency? = nil,
        mustDeliver: Bool = false,
        staleAfterSeconds: Int64? = nil,
        relevanceScore: Double? = nil,
        eventTime: Instant? = nil,
        at: Instant? = nil,
        force: Bool = false
    ) {
        self.contentState = contentState
        self.alert = alert
        self.urgency = urgency
        self.mustDeliver = mustDeliver
        self.staleAfterSeconds = staleAfterSeconds
        self.relevanceScore = relevanceScore
        self.eventTime = eventTime
        self.at = at
        self.force = force
    }
}

extension UpdateRequest: APIRequest {
    // Made once, because making one costs several allocations.
    private static let contentStateType: FieldType<JSONObject> = .object

    package init?(reader: inout ObjectReader) {
        let contentState = reader.required("content_state", Self.contentStateType)
        let alert = reader.optional("alert", .object(AlertContent.self))
        let urgency = reader.optional("urgency", .word(Urgency.self))
        let mustDeliver = reader.optional("must_deliver", .bool)
        let staleAfterSeconds = reader.optional("stale_after_seconds", .seconds)
        let relevanceScore = reader.optional("relevance_score", .double)
        let eventTime = reader.optional("event_time", .time)
        let at = reader.optional("at", .time)
        let force = reader.optional("force", .bool)
        guard reader.finish(), let contentState else { return nil }
        self.init(
            contentState: contentState,
            alert: alert,
            urgency: urgency,
            mustDeliver: mustDeliver ?? false,
            staleAfterSeconds: staleAfterSeconds,
            relevanceScore: relevanceScore,
            eventTime: eventTime,
            at: at,
            force: force ?? false
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("content_state", contentState)
        fields.add("alert", alert)
        fields.add("urgency", urgency?.rawValue)
        if mustDeliver { fields.add("must_deliver", true) }
        fields.add("stale_after_seconds", staleAfterSeconds)
        fields.add("relevance_score", relevanceScore)
        fields.add("event_time", eventTime)
        fields.add("at", at)
        if force { fields.add("force", true) }
        return fields.json
    }
}

/// `POST …/activities/{id}/end`: ends the activity, now or at a time.
package struct EndRequest: Sendable, Hashable {
    /// When the card leaves the lock screen.
    package enum Dismissal: Sendable, Hashable {
        /// Seconds after the end, at most 14,400 (Apple's 4 h); 0: immediately.
        case after(seconds: Int64)
        case at(Instant)
    }

    /// Nil keeps the newest accepted state.
    package var contentState: JSONObject?
    /// Nil: the policy decides.
    package var dismissal: Dismissal?
    package var alert: AlertContent?
    /// A time in the future schedules the end. A time in the past means now.
    package var at: Instant?

    package init(
        contentState: JSONObject? = nil,
        dismissal: Dismissal? = nil,
        alert: AlertContent? = nil,
        at: Instant? = nil
    ) {
        self.contentState = contentState
        self.dismissal = dismissal
        self.alert = alert
        self.at = at
    }
}

extension EndRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let contentState = reader.optional("content_state", .object)
        let seconds = reader.optional("dismiss_after_seconds", .int64.within(0...14_400))
        let time = reader.optional("dismiss_at", .time)
        if reader.has("dismiss_after_seconds"), reader.has("dismiss_at") {
            let message = "Either 'dismiss_after_seconds' or 'dismiss_at' is expected."
            reader.refuse("dismiss_at", code: FieldError.conflict, message: message)
        }
        let alert = reader.optional("alert", .object(AlertContent.self))
        let at = reader.optional("at", .time)
        guard reader.finish() else { return nil }
        self.init(
            contentState: contentState,
            dismissal: seconds.map { .after(seconds: $0) } ?? time.map { .at($0) },
            alert: alert,
            at: at
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("content_state", contentState)
        switch dismissal {
        case .after(let seconds): fields.add("dismiss_after_seconds", seconds)
        case .at(let time): fields.add("dismiss_at", time)
        case nil: break
        }
        fields.add("alert", alert)
        fields.add("at", at)
        return fields.json
    }
}

/// The answer to an update or an end, 202.
package enum ChangeAnswer: Sendable, Hashable {
    /// The change is committed. `timestamp` is nil until it is stamped. `unchanged` means that it equals the newest
    /// state, so Tally sends nothing.
    case accepted(activityID: ActivityID, revision: Revision, timestamp: Timestamp?, unchanged: Bool)
    /// The change is stored with its time and is checked again then. `scheduleID` is a UUID.
    case scheduled(scheduleID: String)
}

package typealias UpdateAnswer = ChangeAnswer
package typealias EndAnswer = ChangeAnswer

extension ChangeAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        if reader.has("schedule_id") {
            let scheduleID = reader.required("schedule_id", .string)
            guard reader.finish(), let scheduleID else { return nil }
            self = .scheduled(scheduleID: scheduleID)
        } else {
            let activityID = reader.required("activity_id", .activityID)
            let revision = reader.required("revision", .int64)
            let timestamp = reader.optional("timestamp", .int64)
            let unchanged = reader.optional("unchanged", .bool)
            guard reader.finish(), let activityID, let revision else { return nil }
            self = .accepted(
                activityID: activityID,
                revision: revision,
                timestamp: timestamp,
                unchanged: unchanged ?? false
            )
        }
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch self {
        case .accepted(let activityID, let revision, let timestamp, let unchanged):
            fields.add("activity_id", activityID.rawValue)
            fields.add("revision", revision)
            fields.add("timestamp", timestamp.map { JSONValue.number(JSONNumber($0)) } ?? .null)
            if unchanged { fields.add("unchanged", true) }
        case .scheduled(let scheduleID):
            fields.add("schedule_id", scheduleID)
        }
        return fields.json
    }
}
