/// The value of `apns-push-type`. It determines the form of the topic, the priorities and the size of the body.
///
/// Sources: Apple, "Sending notification requests to APNs"; for `widgets` "Updating widgets with WidgetKit push
/// notifications", for `controls` "Updating controls locally and remotely".
package enum PushType: String, Sendable, Hashable, CaseIterable {
    case liveActivity = "liveactivity"
    case alert
    case background
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case location
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The suffix after the bundle id in `apns-topic`.
    package var topicSuffix: String {
        switch self {
        case .liveActivity: ".push-type.liveactivity"
        // The topic of a device management push is the UID in the subject of its certificate. It has the form of a
        // bundle id (com.apple.mgmt.…).
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The full `apns-topic` of a push to a device. Broadcasts and channel requests have no topic; their path contains
    /// the bundle id.
    package func topic(of bundleID: BundleID) -> String { bundleID.rawValue + topicSuffix }

    /// The priorities that this type allows.
    package var priorities: Set<PushPriority> {
        switch self {
        // "Always use priority 5. Using priority 10 is an error."
        case .background: [.five]
        // Apple, "Starting and updating Live Activities with ActivityKit push notifications".
        case .liveActivity: [.five, .ten]
        case .alert, .voip, .complication, .fileProvider, .mdm, .location, .pushToTalk, .widgets, .controls:
            [.one, .five, .ten]
        }
    }

    /// Whether it goes to the token that an app gets by registering for remote notifications. Other types have their
    /// own tokens (PushKit, location, push to talk, WidgetKit, device management).
    package var goesToDeviceToken: Bool {
        switch self {
        case .alert, .background: true
        case .liveActivity, .voip, .complication, .fileProvider, .mdm, .location, .pushToTalk, .widgets, .controls:
            false
        }
    }

    /// The size limit of a push of this type to a device.
    package var sizeLimit: SizeLimit { self == .voip ? .call : .device }
}
