package import APITypes
package import ActivityModel
import JSON

/// What Tally knows of one user: the answer to "what does this user follow?".
package struct UserResource: Sendable, Hashable {
    /// The most entries of each list.
    package static let limit = 100

    package var userID: UserID
    /// In the order in which they were first registered.
    package var devices: [DeviceResource]
    /// The cards on these devices, the newest first.
    package var cards: [UserCard]
    /// The activities whose audience names the user, one of these devices or a topic of the user, the newest first.
    package var activities: [UserActivity]
    /// What the user follows. Topics that single devices follow are not among them.
    package var topics: [Topic]
    /// The starts by push on these devices, the newest activity first.
    package var starts: [UserStart]
    /// What left for these devices within the last 24 hours.
    package var sentToday: SentToday
    /// Whether a list has more than ``limit`` entries and was cut.
    package var isTruncated: Bool

    package init(
        userID: UserID,
        devices: [DeviceResource] = [],
        cards: [UserCard] = [],
        activities: [UserActivity] = [],
        topics: [Topic] = [],
        starts: [UserStart] = [],
        sentToday: SentToday = SentToday(),
        isTruncated: Bool = false
    ) {
        self.userID = userID
        self.devices = devices
        self.cards = cards
        self.activities = activities
        self.topics = topics
        self.starts = starts
        self.sentToday = sentToday
        self.isTruncated = isTruncated
    }
}

/// A card of a user, with its activity.
package struct UserCard: Sendable, Hashable {
    package var activityID: ActivityID
    package var type: ActivityTypeName
    package var activityState: ActivityState
    package var card: SubscriptionResource

    package init(
        activityID: ActivityID,
        type: ActivityTypeName,
        activityState: ActivityState,
        card: SubscriptionResource
    ) {
        self.activityID = activityID
        self.type = type
        self.activityState = activityState
        self.card = card
    }
}

/// What became of a start by push on a device of a user.
package struct UserStart: Sendable, Hashable {
    /// In the words in which ``StartProgress`` counts.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case pending, sent, unanswered, confirmed, withheld, failed, cancelled
    }

    package var activityID: ActivityID
    package var deviceID: DeviceID
    package var state: State
    package var reason: String?
    /// When the start last left; nil: not yet.
    package var sentAt: Instant?

    package init(
        activityID: ActivityID,
        deviceID: DeviceID,
        state: State,
        reason: String? = nil,
        sentAt: Instant? = nil
    ) {
        self.activityID = activityID
        self.deviceID = deviceID
        self.state = state
        self.reason = reason
        self.sentAt = sentAt
    }
}

/// What left for the devices of a user within 24 hours.
package struct SentToday: Sendable, Hashable {
    /// Starts by push.
    package var starts: Int
    /// Single pushes on record. A large activity records batches, which are not counted here.
    package var pushes: Int

    package init(starts: Int = 0, pushes: Int = 0) {
        self.starts = starts
        self.pushes = pushes
    }
}

/// An activity whose audience names a user.
package struct UserActivity: Sendable, Hashable {
    package var activityID: ActivityID
    package var type: ActivityTypeName
    package var state: ActivityState

    package init(activityID: ActivityID, type: ActivityTypeName, state: ActivityState) {
        self.activityID = activityID
        self.type = type
        self.state = state
    }
}

extension UserResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("user_id", \.userID, .userID),
        .required("devices", \.devices, .list(of: .object(DeviceResource.self))),
        .required("cards", \.cards, .list(of: .object(UserCard.self))),
        .required("activities", \.activities, .list(of: .object(UserActivity.self))),
        // The next three are absent from answers of earlier daemons.
        .optional("topics", \.topics, .list(of: .topic), else: []),
        .optional("starts", \.starts, .list(of: .object(UserStart.self)), else: []),
        .optional("sent_today", \.sentToday, .object(SentToday.self), else: SentToday()),
        .required("truncated", \.isTruncated, .bool),
        make: Self.init
    )
}

extension UserStart: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("device_id", \.deviceID, .deviceID),
        .required("state", \.state, .word(State.self)),
        .optional("reason", \.reason, .string),
        .optional("sent_at", \.sentAt, .time),
        make: Self.init
    )
}

extension SentToday: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("starts", \.starts, .int),
        .required("pushes", \.pushes, .int),
        make: Self.init
    )
}

extension UserCard: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("type", \.type, .typeName),
        .required("activity_state", \.activityState, .word(ActivityState.self)),
        .required("card", \.card, .object(SubscriptionResource.self)),
        make: Self.init
    )
}

extension UserActivity: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("type", \.type, .typeName),
        .required("state", \.state, .word(ActivityState.self)),
        make: Self.init
    )
}
