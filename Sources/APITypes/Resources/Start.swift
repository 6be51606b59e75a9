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

extension StartRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("type", \.type, .typeName),
        .required("attributes", \.attributes, .object),
        .required("content_state", \.contentState, .object),
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("audience", \.audience, .object(Audience.self), unless: Audience()),
        .optional("delivery", \.delivery, .word(Delivery.self), else: .tokens),
        .optional("alert", \.alert, .object(AlertContent.self)),
        .optional("urgency", \.urgency, .word(Urgency.self)),
        .optional("starts_at", \.startsAt, .time),
        .optional("ends_at", \.endsAt, .time),
        .optional("stale_after_seconds", \.staleAfterSeconds, .seconds),
        .optional("relevance_score", \.relevanceScore, .double),
        rule: { reader in
            guard let start = reader.peek("starts_at", .time), let end = reader.peek("ends_at", .time) else { return }
            guard end <= start else { return }
            reader.refuse("ends_at", code: FieldError.outOfRange, message: "'ends_at' must be after 'starts_at'.")
        },
        make: Self.init
    )
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

extension StartAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("state", \.state, .word(ActivityState.self)),
        .required("revision", \.revision, .int64),
        .nullable("timestamp", \.timestamp, .int64),
        .optional("channel", \.channel, .object(ChannelReference.self)),
        .required("audience", \.audience, .object(AudienceCounts.self)),
        make: Self.init
    )
}
