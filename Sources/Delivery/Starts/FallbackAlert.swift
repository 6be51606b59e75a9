import APNSTransport
import ActivityModel
import DeliveryStore

/// The ordinary alert that replaces a card which a device cannot show (policy `fallback_alert`).
///
/// It says what the start would have said, and names the activity for the app that is opened by it.
struct FallbackAlert: Sendable {
    private let activity: ActivitySnapshot
    let body: [UInt8]

    init(_ alert: AlertContent, for activity: ActivitySnapshot) {
        self.activity = activity
        var content = NotificationContent()
        content.alert = NotificationAlert(title: alert.title, body: alert.body)
        content.sound = alert.sound.map(NotificationSound.named)
        body = PushPayload(.alert, content: content, custom: activity.activityID.mention(of: activity.typeName)).body
    }

    /// The header fields of the push to the devices' own tokens; `now` is in UNIX seconds.
    func headers(at now: Timestamp) -> PushHeaders {
        PushHeaders(
            bundleID: activity.bundleID,
            pushType: .alert,
            priority: PriorityRule.fallbackAlert,
            expiration: activity.policy.expiration(of: .start, at: now)
        )
    }
}
