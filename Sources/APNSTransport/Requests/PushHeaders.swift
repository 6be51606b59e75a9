package import ActivityModel

/// What the header fields of a device push say, apart from the provider token.
package struct PushHeaders: Sendable, Hashable {
    /// The most bytes of `apns-collapse-id`.
    package static let maximumCollapseIDBytes = 64

    /// The whole `apns-topic`, suffix included.
    package var topic: String
    /// The value of `apns-push-type`.
    package var pushType: String
    /// The value of `apns-priority`; always sent, because the default is 10.
    package var priority: PushPriority
    /// Until when APNs keeps trying, UNIX seconds; 0 is one attempt, nil leaves it to Apple (up to 30 days).
    package var expiration: Int64?
    /// Replaces what carries the same id; at most 64 bytes. Its meaning for Live Activities is undocumented.
    package var collapseID: String?

    /// Header fields for a topic that the caller has put together.
    package init(
        topic: String,
        pushType: String = PushType.liveActivity.rawValue,
        priority: PushPriority,
        expiration: Int64? = nil,
        collapseID: String? = nil
    ) {
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    /// Header fields for an app; the topic follows from the push type.
    package init(
        bundleID: BundleID,
        pushType: PushType = .liveActivity,
        priority: PushPriority,
        expiration: Int64? = nil,
        collapseID: String? = nil
    ) {
        self.init(
            topic: bundleID.rawValue + pushType.topicSuffix,
            pushType: pushType.rawValue,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID
        )
    }
}
