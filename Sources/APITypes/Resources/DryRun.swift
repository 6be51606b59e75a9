package import ActivityModel
package import JSON

/// The answer to a start, update or end with `?dry_run=true`, 200: the pushes that it would send. A dry run writes
/// nothing.
package struct DryRunAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    /// The revision that the change would get.
    package var revision: Revision
    /// The `aps.timestamp` that it would get if it were accepted now.
    package var timestamp: Timestamp
    /// Whether nothing would be sent, because the state is the newest one or the same start was already accepted.
    package var unchanged: Bool
    /// The time of a scheduled change. The pushes are those that would be sent now.
    package var at: Instant?
    /// The devices that the start would reach now; nil for an update or an end.
    package var audience: AudienceCounts?
    /// The devices and cards that would get no push, counted by reason.
    package var withheld: [String: Int]
    /// One for each distinct body and set of header fields.
    package var pushes: [PlannedPush]

    package init(
        activityID: ActivityID,
        revision: Revision,
        timestamp: Timestamp,
        unchanged: Bool = false,
        at: Instant? = nil,
        audience: AudienceCounts? = nil,
        withheld: [String: Int] = [:],
        pushes: [PlannedPush] = []
    ) {
        self.activityID = activityID
        self.revision = revision
        self.timestamp = timestamp
        self.unchanged = unchanged
        self.at = at
        self.audience = audience
        self.withheld = withheld
        self.pushes = pushes
    }
}

extension DryRunAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let revision = reader.required("revision", .int64)
        let timestamp = reader.required("timestamp", .int64)
        let unchanged = reader.optional("unchanged", .bool)
        let at = reader.optional("at", .time)
        let audience = reader.optional("audience", .object(AudienceCounts.self))
        let withheld = reader.optional("withheld", .counts)
        let pushes = reader.required("pushes", .list(of: .object(PlannedPush.self)))
        guard reader.finish(), let activityID, let revision, let timestamp, let pushes else { return nil }
        self.init(
            activityID: activityID,
            revision: revision,
            timestamp: timestamp,
            unchanged: unchanged ?? false,
            at: at,
            audience: audience,
            withheld: withheld ?? [:],
            pushes: pushes
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("revision", revision)
        fields.add("timestamp", timestamp)
        if unchanged { fields.add("unchanged", true) }
        fields.add("at", at)
        fields.add("audience", audience)
        if !withheld.isEmpty { fields.add("withheld", .counts(withheld)) }
        fields.add("pushes", pushes)
        return fields.json
    }
}

/// A push that would be sent.
package struct PlannedPush: Sendable, Hashable {
    /// The kind of destination.
    package enum Destination: String, Sendable, Hashable, CaseIterable {
        case startTokens = "start_tokens"
        case updateTokens = "update_tokens"
        case channel
    }

    package var event: ChangeKind
    package var to: Destination
    /// The number of destinations that would get it now; 1 for a channel.
    package var destinations: Int
    /// The budget that it would use: `ordinary`, `frequent` or `channel`; nil for a start.
    package var budgetClass: String?
    package var priority: PushPriority
    /// Why the push has this priority: a word and a sentence.
    package var reason: String
    package var explanation: String
    /// The path of the APNs request. `{token}` replaces the token.
    package var path: String
    /// The header fields of the request, except the authorization.
    package var headers: JSONObject
    package var bytes: Int
    package var body: JSONValue

    package init(
        event: ChangeKind,
        to: Destination,
        destinations: Int,
        budgetClass: String? = nil,
        priority: PushPriority,
        reason: String,
        explanation: String,
        path: String,
        headers: JSONObject,
        bytes: Int,
        body: JSONValue
    ) {
        self.event = event
        self.to = to
        self.destinations = destinations
        self.budgetClass = budgetClass
        self.priority = priority
        self.reason = reason
        self.explanation = explanation
        self.path = path
        self.headers = headers
        self.bytes = bytes
        self.body = body
    }
}

extension PlannedPush: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let event = reader.required("event", .word(ChangeKind.self))
        let to = reader.required("to", .word(Destination.self))
        let destinations = reader.required("destinations", .int)
        let budgetClass = reader.optional("class", .string)
        let priority = reader.required("priority", .priority)
        let reason = reader.required("reason", .string)
        let explanation = reader.required("explanation", .string)
        let path = reader.required("path", .string)
        let headers = reader.required("headers", .object)
        let bytes = reader.required("bytes", .int)
        let body = reader.required("body", .any)
        guard reader.finish(), let event, let to, let destinations, let priority, let reason, let explanation,
            let path, let headers, let bytes, let body
        else { return nil }
        self.init(
            event: event,
            to: to,
            destinations: destinations,
            budgetClass: budgetClass,
            priority: priority,
            reason: reason,
            explanation: explanation,
            path: path,
            headers: headers,
            bytes: bytes,
            body: body
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("event", event.rawValue)
        fields.add("to", to.rawValue)
        fields.add("destinations", destinations)
        fields.add("class", budgetClass)
        fields.add("priority", priority.rawValue)
        fields.add("reason", reason)
        fields.add("explanation", explanation)
        fields.add("path", path)
        fields.add("headers", headers)
        fields.add("bytes", bytes)
        fields.add("body", body)
        return fields.json
    }
}
