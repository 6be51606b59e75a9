/// The source of a rule: the title of one of Apple's pages, or a recording.
package enum Citation: String, Sendable {
    case connection = "Apple, Establishing a connection to APNs"
    case tokenConnection = "Apple, Establishing a token-based connection to APNs"
    case requests = "Apple, Sending notification requests to APNs"
    case responses = "Apple, Handling notification responses from APNs"
    case broadcast = "Apple, Sending broadcast push notification requests to APNs"
    case channels = "Apple, Sending channel management requests to APNs"
    case errors = "Apple, Handling error responses from Apple Push Notification service"
    case activityKit = "Apple, Starting and updating Live Activities with ActivityKit push notifications"
    /// Recorded from Apple's sandbox, because Apple's pages do not say it or say something else.
    case recorded = "Recorded against Apple's sandbox"
}
