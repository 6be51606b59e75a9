package import ActivityModel

/// What the header fields of a device push say, apart from the provider token.
///
/// The topic follows from app and push type, so the two cannot disagree.
package struct PushHeaders: Sendable, Hashable {
    /// The most bytes of `apns-collapse-id`.
    package static let maximumCollapseIDBytes = 64

    /// The app; for ``PushType/mdm`` the topic of the device management certificate.
    package var bundleID: BundleID
    /// The value of `apns-push-type`.
    package var pushType: PushType
    /// The value of `apns-priority`; always sent, because the default is 10.
    package var priority: PushPriority
    /// Until when APNs keeps trying, UNIX seconds; 0 is one attempt, nil leaves it to Apple (up to 30 days).
    package var expiration: Int64?
    /// Replaces what carries the same id; at most 64 bytes. Its meaning for Live Activities is undocumented.
    package var collapseID: String?
    /// The value of `apns-id`, for a batch of one; Apple makes one where it is nil, and answers with it either way.
    package var requestID: APNSRequestID?

    /// Header fields of these values.
    package init(
        bundleID: BundleID,
        pushType: PushType = .liveActivity,
        priority: PushPriority,
        expiration: Int64? = nil,
        collapseID: String? = nil,
        requestID: APNSRequestID? = nil
    ) {
        self.bundleID = bundleID
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.requestID = requestID
    }

    /// The value of `apns-topic`, suffix included.
    package var topic: String { pushType.topic(of: bundleID) }
}
