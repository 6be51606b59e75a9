package import APITypes
package import ActivityModel
import JSON

/// All that Tally stores of a user, page by page. Each list goes on where the page before has ended.
package struct UserExport: Sendable, Hashable {
    /// The most entries of a page, of all lists together. The topics do not count.
    package static let limit = 10_000

    package var exportedAt: Instant
    package var user: UserResource
    /// The topics of single devices.
    package var deviceTopics: [DeviceTopics]
    /// Single pushes on record, the newest first.
    package var pushes: [RecordedPush]
    /// Nil on the last page.
    package var nextCursor: String?

    package init(
        exportedAt: Instant,
        user: UserResource,
        deviceTopics: [DeviceTopics] = [],
        pushes: [RecordedPush] = [],
        nextCursor: String? = nil
    ) {
        self.exportedAt = exportedAt
        self.user = user
        self.deviceTopics = deviceTopics
        self.pushes = pushes
        self.nextCursor = nextCursor
    }

    /// Adds the next page.
    package mutating func append(_ page: UserExport) {
        user.devices += page.user.devices
        user.cards += page.user.cards
        user.activities += page.user.activities
        user.topics += page.user.topics
        user.starts += page.user.starts
        user.sentToday.starts += page.user.sentToday.starts
        user.sentToday.pushes += page.user.sentToday.pushes
        user.isTruncated = page.user.isTruncated
        deviceTopics += page.deviceTopics
        pushes += page.pushes
        nextCursor = page.nextCursor
    }
}

/// The topics of one device, without those of its user.
package struct DeviceTopics: Sendable, Hashable {
    package var deviceID: DeviceID
    package var topics: [Topic]

    package init(deviceID: DeviceID, topics: [Topic]) {
        self.deviceID = deviceID
        self.topics = topics
    }
}

/// One push to a device, as the timeline records it.
package struct RecordedPush: Sendable, Hashable {
    package var at: Instant
    package var deviceID: DeviceID
    /// Nil if the activity is deleted.
    package var activityID: ActivityID?
    /// What was sent: `start`, `update`, `end`, `alert`, `wake` or `continued`.
    package var event: String?
    package var revision: Revision?
    /// The status that APNs answered.
    package var status: Int?
    package var reason: String?

    package init(
        at: Instant,
        deviceID: DeviceID,
        activityID: ActivityID? = nil,
        event: String? = nil,
        revision: Revision? = nil,
        status: Int? = nil,
        reason: String? = nil
    ) {
        self.at = at
        self.deviceID = deviceID
        self.activityID = activityID
        self.event = event
        self.revision = revision
        self.status = status
        self.reason = reason
    }
}

extension UserExport: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("exported_at", \.exportedAt, .time),
        .required("user", \.user, .object(UserResource.self)),
        .required("device_topics", \.deviceTopics, .list(of: .object(DeviceTopics.self))),
        .required("pushes", \.pushes, .list(of: .object(RecordedPush.self))),
        .nullable("next_cursor", \.nextCursor, .string),
        make: Self.init
    )
}

extension DeviceTopics: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("device_id", \.deviceID, .deviceID),
        .required("topics", \.topics, .list(of: .topic)),
        make: Self.init
    )
}

extension RecordedPush: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("at", \.at, .time),
        .required("device_id", \.deviceID, .deviceID),
        .optional("activity_id", \.activityID, .activityID),
        .optional("event", \.event, .string),
        .optional("revision", \.revision, .int64),
        .optional("status", \.status, .int),
        .optional("reason", \.reason, .string),
        make: Self.init
    )
}
