package import ActivityModel
package import JSON

/// `POST …/registration-tickets`: makes a ticket and sets what an app may report with it.
package struct RegistrationTicketRequest: Sendable, Hashable {
    /// The longest life of a ticket, in seconds.
    package static let maximumSeconds: Int64 = 86_400
    /// The most activities that a ticket can name, because a ticket must fit in a header field.
    package static let maximumActivities = 64
    /// The most topics and prefixes that a ticket can name.
    package static let maximumTopics = 64

    package var environment: APNSEnvironment
    package var deviceID: DeviceID
    /// The user that the device is registered for; nil: no user.
    package var userID: UserID?
    /// The activities whose cards may be reported. Nil: those with the device or its user in their audience.
    package var activities: [ActivityID]?
    /// The topics that the device may follow. Nil: none.
    package var topics: [TopicPattern]?
    /// 1 to ``maximumSeconds``.
    package var ttlSeconds: Int64

    package init(
        environment: APNSEnvironment,
        deviceID: DeviceID,
        userID: UserID? = nil,
        activities: [ActivityID]? = nil,
        topics: [TopicPattern]? = nil,
        ttlSeconds: Int64
    ) {
        self.environment = environment
        self.deviceID = deviceID
        self.userID = userID
        self.activities = activities
        self.topics = topics
        self.ttlSeconds = ttlSeconds
    }
}

extension RegistrationTicketRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let deviceID = reader.required("device_id", .deviceID)
        let userID = reader.optional("user_id", .userID)
        let activities = reader.optional(
            "activities",
            FieldType<[ActivityID]>.list(of: .activityID).counting(0...Self.maximumActivities, "activities")
        )
        let topics = reader.optional("topics", .topicPatterns)
        let ttlSeconds = reader.required("ttl_seconds", .int64.within(1...Self.maximumSeconds))
        guard reader.finish(), let environment, let deviceID, let ttlSeconds else { return nil }
        self.init(
            environment: environment,
            deviceID: deviceID,
            userID: userID,
            activities: activities,
            topics: topics,
            ttlSeconds: ttlSeconds
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment.rawValue)
        fields.add("device_id", deviceID.rawValue)
        fields.add("user_id", userID?.rawValue)
        fields.add("activities", words: activities?.map(\.rawValue))
        fields.add("topics", words: topics?.map(\.rawValue))
        fields.add("ttl_seconds", ttlSeconds)
        return fields.json
    }
}

/// The answer to a new ticket, 201.
package struct RegistrationTicketAnswer: Sendable, Hashable {
    /// The text that the app sends after `Bearer`. Tally does not store it.
    package var ticket: String
    package var expiresAt: Instant

    package init(ticket: String, expiresAt: Instant) {
        self.ticket = ticket
        self.expiresAt = expiresAt
    }
}

extension RegistrationTicketAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("ticket", \.ticket, .string),
        .required("expires_at", \.expiresAt, .time),
        make: Self.init
    )
}

/// The answer to a report with a ticket, 200. It says whether the report was accepted, and otherwise repeats only what
/// the app sent.
package struct RegistrationReceipt: Sendable, Hashable {
    package var deviceID: DeviceID
    /// The activity of a card; nil for a report about the device.
    package var activityID: ActivityID?
    /// Why the report was ignored; nil if it was accepted.
    package var stale: StaleReport?
    /// The share of cards whose receipts are wanted (``ReceiptsRequest``), from 0 to 1.
    package var receiptSampling: Double

    package init(
        deviceID: DeviceID,
        activityID: ActivityID? = nil,
        stale: StaleReport? = nil,
        receiptSampling: Double
    ) {
        self.deviceID = deviceID
        self.activityID = activityID
        self.stale = stale
        self.receiptSampling = receiptSampling
    }
}

extension RegistrationReceipt: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let deviceID = reader.required("device_id", .deviceID)
        let activityID = reader.optional("activity_id", .activityID)
        let stale = reader.staleness()
        let receiptSampling = reader.required("receipt_sampling", .double)
        guard reader.finish(), let deviceID, let receiptSampling else { return nil }
        self.init(
            deviceID: deviceID,
            activityID: activityID,
            stale: stale,
            receiptSampling: receiptSampling
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("device_id", deviceID.rawValue)
        fields.add("activity_id", activityID?.rawValue)
        fields.add(stale)
        fields.add("receipt_sampling", receiptSampling)
        return fields.json
    }
}
