package import ActivityModel
package import JSON

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

extension UserResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let userID = reader.required("user_id", .userID)
        let devices = reader.required("devices", .list(of: .object(DeviceResource.self)))
        let cards = reader.required("cards", .list(of: .object(UserCard.self)))
        let activities = reader.required("activities", .list(of: .object(UserActivity.self)))
        let isTruncated = reader.required("truncated", .bool)
        guard reader.finish(), let userID, let devices, let cards, let activities, let isTruncated else { return nil }
        self.init(userID: userID, devices: devices, cards: cards, activities: activities, isTruncated: isTruncated)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("user_id", userID.rawValue)
        fields.add("devices", devices)
        fields.add("cards", cards)
        fields.add("activities", activities)
        fields.add("truncated", isTruncated)
        return fields.json
    }
}

extension UserCard: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let type = reader.required("type", .typeName)
        let activityState = reader.required("activity_state", .word(ActivityState.self))
        let card = reader.required("card", .object(SubscriptionResource.self))
        guard reader.finish(), let activityID, let type, let activityState, let card else { return nil }
        self.init(activityID: activityID, type: type, activityState: activityState, card: card)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("type", type.rawValue)
        fields.add("activity_state", activityState.rawValue)
        fields.add("card", card)
        return fields.json
    }
}

extension UserActivity: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let type = reader.required("type", .typeName)
        let state = reader.required("state", .word(ActivityState.self))
        guard reader.finish(), let activityID, let type, let state else { return nil }
        self.init(activityID: activityID, type: type, state: state)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("type", type.rawValue)
        fields.add("state", state.rawValue)
        return fields.json
    }
}
