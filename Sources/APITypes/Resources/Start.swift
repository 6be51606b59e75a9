package import ActivityModel
package import JSON

/// `PUT /v1/apps/{b}/activities/{id}`: starts an activity. The id makes a repeat harmless.
package struct StartRequest: Sendable, Hashable {
    package var type: ActivityTypeName
    package var attributes: JSONObject
    package var contentState: JSONObject
    /// Nil: `production` if the app has it, otherwise its only environment.
    package var environment: APNSEnvironment?
    /// If empty, apps start the activity themselves.
    package var audience: Audience
    package var delivery: Delivery
    package var alert: AlertContent?
    package var urgency: Urgency?
    /// A time in the future schedules the start.
    package var startsAt: Instant?
    /// When the activity ends without a request.
    package var endsAt: Instant?
    package var staleAfterSeconds: Int64?
    package var relevanceScore: Double?

    package init(
        type: ActivityTypeName,
        attributes: JSONObject,
        contentState: JSONObject,
        environment: APNSEnvironment? = nil,
        audience: Audience = Audience(),
        delivery: Delivery = .tokens,
        alert: AlertContent? = nil,
        urgency: Urgency? = nil,
        startsAt: Instant? = nil,
        endsAt: Instant? = nil,
        staleAfterSeconds: Int64? = nil,
        relevanceScore: Double? = nil
    ) {
        self.type = type
        self.attributes = attributes
        self.contentState = contentState
        self.environment = environment
        self.audience = audience
        self.delivery = delivery
        self.alert = alert
        self.urgency = urgency
        self.startsAt = startsAt
        self.endsAt = endsAt
        self.staleAfterSeconds = staleAfterSeconds
        self.relevanceScore = relevanceScore
    }
}

extension StartRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self(type: $0, attributes: $1, contentState: $2) }) {
        required("type", .typeName, \.type)
        required("attributes", .object, \.attributes)
        required("content_state", .object, \.contentState)
        optional("environment", .word(APNSEnvironment.self), \.environment)
        defaulted("audience", .object(Audience.self), \.audience, omitting: Audience())
        defaulted("delivery", .word(Delivery.self), \.delivery)
        optional("alert", .alert, \.alert)
        optional("urgency", .word(Urgency.self), \.urgency)
        optional("starts_at", .time, \.startsAt)
        optional("ends_at", .time, \.endsAt)
        optional("stale_after_seconds", .seconds, \.staleAfterSeconds)
        optional("relevance_score", .double, \.relevanceScore)
        check { reader in
            if let end = reader.peek("ends_at", .time), let start = reader.peek("starts_at", .time), end <= start {
                reader.refuse("ends_at", code: FieldError.outOfRange, message: "'ends_at' must be after 'starts_at'.")
            }
        }
    }
}

/// The answer to a start, 202; 200 for an identical repeat.
package struct StartAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    package var state: ActivityState
    package var revision: Revision
    /// Nil until the change is stamped.
    package var timestamp: Timestamp?
    package var channel: ChannelReference?
    package var audience: AudienceCounts

    package init(
        activityID: ActivityID,
        state: ActivityState,
        revision: Revision,
        timestamp: Timestamp?,
        channel: ChannelReference? = nil,
        audience: AudienceCounts
    ) {
        self.activityID = activityID
        self.state = state
        self.revision = revision
        self.timestamp = timestamp
        self.channel = channel
        self.audience = audience
    }
}

extension StartAnswer: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(activityID: $0, state: $1, revision: $2, timestamp: nil, audience: $3)
    }) {
        required("activity_id", .activityID, \.activityID)
        required("state", .word(ActivityState.self), \.state)
        required("revision", .int64, \.revision)
        nullable("timestamp", .int64, \.timestamp)
        optional("channel", .object(ChannelReference.self), \.channel)
        required("audience", .object(AudienceCounts.self), \.audience)
    }
}

extension JSONValue {
    /// A number, or an explicit `null` for a required field whose value is not known yet.
    static func orNull(_ number: Int64?) -> JSONValue {
        number.map { .number(JSONNumber($0)) } ?? .null
    }
}
