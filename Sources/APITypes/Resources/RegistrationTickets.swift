package import ActivityModel
import JSON

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

extension RegistrationTicketRequest: APIRequest, FieldwiseValue {
    private static let namedActivities = FieldType<[ActivityID]>.list(of: .activityID)
        .counting(0...maximumActivities, "activities")
    private static let lifetime = FieldType<Int64>.int64.within(1...maximumSeconds)

    package static let fields = Fields(
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("device_id", \.deviceID, .deviceID),
        .optional("user_id", \.userID, .userID),
        .optional("activities", \.activities, namedActivities),
        .optional("topics", \.topics, .topicPatterns),
        .required("ttl_seconds", \.ttlSeconds, lifetime),
        make: Self.init
    )
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

extension RegistrationReceipt: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("device_id", \.deviceID, .deviceID),
        .optional("activity_id", \.activityID, .activityID),
        .staleness(\.stale),
        .required("receipt_sampling", \.receiptSampling, .double),
        make: Self.init
    )
}
