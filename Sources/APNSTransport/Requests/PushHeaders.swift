package import ActivityModel

/// The values of the header fields of a device push, except the provider token.
///
/// The topic follows from app and push type, so the two always match.
package struct PushHeaders: Sendable, Hashable {
    /// The maximum length of `apns-collapse-id`, in bytes.
    package static let maximumCollapseIDBytes = 64

    /// The app. For ``PushType/mdm`` it is the topic of the device management certificate.
    package var bundleID: BundleID
    /// The value of `apns-push-type`.
    package var pushType: PushType
    /// The value of `apns-priority`; always sent, because the default is 10.
    package var priority: PushPriority
    /// How long APNs keeps trying, as UNIX seconds; 0: one attempt; `nil`: Apple's default (up to 30 days).
    package var expiration: Int64?
    /// Replaces an earlier push with the same id; at most 64 bytes. Its effect on Live Activities is undocumented.
    package var collapseID: String?
    /// The value of `apns-id`, for a batch of one. If it is `nil`, Apple creates one. The answer always contains it.
    package var requestID: APNSRequestID?

    /// Creates header values.
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

    /// The value of `apns-topic`, including its suffix.
    package var topic: String { pushType.topic(of: bundleID) }
}
