/// A push as it was sent.
struct Shipment {
    var body: PushBody
    var priority: Int
    /// UNIX seconds; 0: one attempt; nil: Apple decides.
    var expiration: Int64?
}

/// A push that Apple stores for a phone.
struct Mail {
    var shipment: Shipment
    var destination: ArrivingPush.Destination
    /// When it is deleted, in milliseconds since 1970.
    var until: Int64
}

/// The stored pushes for offline phones. For each phone, Apple stores one push by token and one for each channel that
/// stores its most recent message. Apple, Sending notification requests to APNs: one per device and bundle id, normally
/// the latest.
struct Mailbox {
    /// The source of a stored push.
    enum Source: Hashable {
        case token
        case channel(String)
    }

    /// Apple stores a push by token for up to 30 days, and one of a channel for up to 8 hours. In milliseconds.
    private static let longest: (token: Int64, channel: Int64) = (30 * 86_400_000, 8 * 3_600_000)

    private var mail: [Int: [(source: Source, mail: Mail)]] = [:]

    /// The end of the storage, `apns-expiration` at the latest; nil if the push is not stored.
    static func keepsUntil(_ shipment: Shipment, from source: Source, at now: ClockReading) -> Int64? {
        if shipment.expiration == 0 { return nil }
        let longest = source == .token ? longest.token : longest.channel
        return min(
            now.milliseconds + longest,
            shipment.expiration.map { $0.multipliedReportingOverflow(by: 1000) }
                .map { $0.overflow ? .max : $0.partialValue } ?? .max
        )
    }

    /// Stores a push. It replaces the one from the same source.
    mutating func keep(_ mail: Mail, from source: Source, for phone: Int) {
        self.mail[phone, default: []].removeAll { $0.source == source }
        self.mail[phone, default: []].append((source, mail))
    }

    /// Removes and returns the stored pushes of a phone, without the expired ones, in order of arrival.
    mutating func take(for phone: Int, at now: ClockReading) -> [Mail] {
        (mail.removeValue(forKey: phone) ?? []).map(\.mail).filter { now.milliseconds < $0.until }
    }
}
