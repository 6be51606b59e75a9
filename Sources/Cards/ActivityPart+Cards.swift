package import Store

extension ActivityPart {
    /// The tables of this room that go with an activity.
    package static let cards = [
        ActivityPart(table: "subscriptions", order: "p.device_key"),
        ActivityPart(table: "starts", order: "p.device_key"),
        ActivityPart(table: "continuations", order: "p.device_key, p.activitykit_id"),
    ]
}
