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
    /// The activities whose audience names the user or one of these devices, the newest first.
    package var activities: [UserActivity]
    /// Whether a list has more than ``limit`` entries and was cut.
    package var isTruncated: Bool

    package init(
        userID: UserID,
        devices: [DeviceResource] = [],
        cards: [UserCard] = [],
        activities: [UserActivity] = [],
        isTruncated: Bool = false
    ) {
        self.userID = userID
        self.devices = devices
        self.cards = cards
        self.activities = activities
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
        .required("truncated", \.isTruncated, .bool),
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
