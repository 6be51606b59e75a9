/// The value of `apns-push-type`, which fixes the form of the topic.
///
/// Source: Apple, "Sending notification requests to APNs".
package enum PushType: String, Sendable, Hashable, CaseIterable {
    case liveActivity = "liveactivity"
    case alert
    case background
    case controls
    case location
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case pushToTalk = "pushtotalk"
    case widgets

    /// What follows the bundle id in `apns-topic`.
    package var topicSuffix: String {
        switch self {
        case .liveActivity: ".push-type.liveactivity"
        // The topic of a device management push is a name of its own, from the certificate.
        case .alert, .background, .mdm: ""
        case .controls: ".push-type.controls"
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        }
    }
}
