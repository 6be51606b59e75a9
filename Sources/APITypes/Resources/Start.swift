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

extension StartRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let type = reader.required("type", .typeName)
        let attributes = reader.required("attributes", .object)
        let contentState = reader.required("content_state", .object)
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let audience = reader.optional("audience", .object(Audience.self))
        let delivery = reader.optional("delivery", .word(Delivery.self))
        let alert = reader.optional("alert", .alert)
        let urgency = reader.optional("urgency", .word(Urgency.self))
        let startsAt = reader.optional("starts_at", .time)
        let endsAt = reader.optional("ends_at", .time)
        let staleAfterSeconds = reader.optional("stale_after_seconds", .seconds)
        let relevanceScore = reader.optional("relevance_score", .double)
        if let startsAt, let endsAt, endsAt <= startsAt {
            reader.refuse("ends_at", code: FieldError.outOfRange, message: "'ends_at' must be after 'starts_at'.")
        }
        guard reader.finish(), let type, let attributes, let contentState else { return nil }
        self.init(
            type: type,
            attributes: attributes,
            contentState: contentState,
            environment: environment,
            audience: audience ?? Audience(),
            delivery: delivery ?? .tokens,
            alert: alert,
            urgency: urgency,
            startsAt: startsAt,
            endsAt: endsAt,
            staleAfterSeconds: staleAfterSeconds,
            relevanceScore: relevanceScore
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("type", type.rawValue)
        fields.add("attributes", attributes)
        fields.add("content_state", contentState)
        fields.add("environment", environment?.rawValue)
        if !audience.isEmpty { fields.add("audience", audience) }
        fields.add("delivery", delivery.rawValue)
        fields.add("alert", alert?.json)
        fields.add("urgency", urgency?.rawValue)
        fields.add("starts_at", startsAt)
        fields.add("ends_at", endsAt)
        fields.add("stale_after_seconds", staleAfterSeconds)
        fields.add("relevance_score", relevanceScore)
        return fields.json
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

extension JSONValue {
    /// A number, or an explicit `null` for a required field whose value is not known yet.
    static func orNull(_ number: Int64?) -> JSONValue {
        number.map { .number(JSONNumber($0)) } ?? .null
    }
}
