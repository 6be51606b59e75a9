package import ActivityModel
import JSON

/// `POST …/registration-tickets`: makes a ticket and sets what an app may report with it.
package struct RegistrationTicketRequest: Sendable, Hashable {
    /// The longest life of a ticket, in seconds.
    package static let maximumSeconds: Int64 = 86_400
    /// The most activities that a ticket can name, because a ticket must fit in a header field.
    package static let maximumActivities = 64

    package var environment: APNSEnvironment
    package var deviceID: DeviceID
    /// The user that the device is registered for; nil: no user.
    package var userID: UserID?
    /// The activities whose cards may be reported. Nil: those with the device or its user in their audience.
    package var activities: [ActivityID]?
    /// 1 to ``maximumSeconds``.
    package var ttlSeconds: Int64

    package init(
        environment: APNSEnvironment,
        deviceID: DeviceID,
        userID: UserID? = nil,
        activities: [ActivityID]? = nil,
        ttlSeconds: Int64
    ) {
        self.environment = environment
        self.deviceID = deviceID
        self.userID = userID
        self.activities = activities
        self.ttlSeconds = ttlSeconds
    }
}

extension RegistrationTicketRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self(environment: $0, deviceID: $1, ttlSeconds: $2) }) {
        required("environment", .word(APNSEnvironment.self), \.environment)
        required("device_id", .deviceID, \.deviceID)
        optional("user_id", .userID, \.userID)
        optional(
            "activities",
            .list(of: .activityID).limited("At most \(maximumActivities) activities are expected.") {
                $0.count <= maximumActivities
            },
            \.activities
        )
        required("ttl_seconds", .int64.within(1...maximumSeconds), \.ttlSeconds)
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

extension RegistrationTicketAnswer: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("ticket", .string, \.ticket)
        required("expires_at", .time, \.expiresAt)
    }
}

/// The answer to a report with a ticket, 200. It says whether the report was accepted, and otherwise repeats only what
/// the app sent.
package struct RegistrationReceipt: Sendable, Hashable {
    package var deviceID: DeviceID
    /// The activity of a card; nil for a report about the device.
    package var activityID: ActivityID?
    /// Why the report was ignored; nil if it was accepted.
    package var stale: StaleReport?

    package init(deviceID: DeviceID, activityID: ActivityID? = nil, stale: StaleReport? = nil) {
        self.deviceID = deviceID
        self.activityID = activityID
        self.stale = stale
    }
}

extension RegistrationReceipt: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(deviceID: $0) }) {
        required("device_id", .deviceID, \.deviceID)
        optional("activity_id", .activityID, \.activityID)
        check { _ = $0.optional("accepted", .bool) }
        computed("accepted", .bool) { $0.stale == nil }
        optional("reason", .word(StaleReport.self), \.stale)
    }
}
