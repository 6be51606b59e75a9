/// Names a card: that of a device of an activity. A card has one row of `subscriptions` at most.
struct CardKey: Hashable, Sendable {
    let activityKey: Int64
    let deviceKey: Int64
}
