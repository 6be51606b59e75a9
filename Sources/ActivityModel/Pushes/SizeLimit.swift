/// A limit on what is sent or held, in bytes of UTF-8.
///
/// Sources: Apple, "Sending notification requests to APNs", "Sending broadcast push notification requests to APNs", and
/// "Starting and updating Live Activities with ActivityKit push notifications" for what the phone holds.
package enum SizeLimit: String, Sendable, Hashable, CaseIterable {
    /// The body of a push to a device.
    case device
    /// The body of a push of type `voip` to a device.
    case call
    /// The body of a push to a channel.
    case broadcast
    /// Attributes and content state together, which is what the phone holds, also after an update.
    case stored

    /// The most bytes.
    package var bytes: Int {
        switch self {
        case .device, .stored: 4096
        case .call, .broadcast: 5120
        }
    }

    /// The excess of `count` bytes over this limit, if there is one.
    package func excess(_ count: Int) -> SizeExcess? { count > bytes ? SizeExcess(limit: self, bytes: count) : nil }
}

/// More bytes than a limit allows.
package struct SizeExcess: Sendable, Hashable {
    /// The limit that is broken.
    package let limit: SizeLimit
    /// How many bytes there would be.
    package let bytes: Int

    /// So many bytes where `limit` allows fewer.
    package init(limit: SizeLimit, bytes: Int) {
        self.limit = limit
        self.bytes = bytes
    }
}
