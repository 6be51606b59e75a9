/// A limit on what Tally sends or the phone stores, in bytes of UTF-8.
///
/// Sources: Apple, "Sending notification requests to APNs", "Sending broadcast push notification requests to APNs", and
/// for what the phone stores "Starting and updating Live Activities with ActivityKit push notifications".
package enum SizeLimit: String, Sendable, Hashable, CaseIterable {
    /// The body of a push to a device.
    case device
    /// The body of a push of type `voip` to a device.
    case call
    /// The body of a push to a channel.
    case broadcast
    /// Attributes and content state together. The phone stores both, also after an update.
    case stored

    /// The limit in bytes.
    package var bytes: Int {
        switch self {
        case .device, .stored: 4096
        case .call, .broadcast: 5120
        }
    }

    /// The excess if `count` bytes exceed this limit; otherwise `nil`.
    package func excess(_ count: Int) -> SizeExcess? { count > bytes ? SizeExcess(limit: self, bytes: count) : nil }
}

/// A size that exceeds a limit.
package struct SizeExcess: Sendable, Hashable {
    /// The exceeded limit.
    package let limit: SizeLimit
    /// The size in bytes.
    package let bytes: Int
}
