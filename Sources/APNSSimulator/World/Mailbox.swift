/// A push as it was sent.
struct Shipment {
    var body: PushBody
    var priority: Int
    /// UNIX seconds; 0: one attempt; nil: as Apple pleases.
    var expiration: Int64?
}

/// A push that waits for a phone.
struct Mail {
    var shipment: Shipment
    var destination: ArrivingPush.Destination
    /// Milliseconds since 1970 at which it is thrown away.
    var until: Int64
}

/// What waits for phones that are offline: for each, one push by token (Apple, Sending notification requests to APNs:
/// one per device and bundle id, normally the latest), and one per channel that stores its most recent message.
struct Mailbox {
    /// Where it comes from.
    enum Source: Hashable {
        case token
        case channel(String)
    }

    /// Apple keeps a push by token for up to 30 days, one of a channel for up to 8 hours. In milliseconds.
    private static let longest: (token: Int64, channel: Int64) = (30 * 86_400_000, 8 * 3_600_000)

    private var mail: [Int: [(source: Source, mail: Mail)]] = [:]

    /// How long a push is kept, nil if it is not; it ends at `apns-expiration` if that comes first.
    static func keepsUntil(_ shipment: Shipment, from source: Source, at now: Moment) -> Int64? {
        if shipment.expiration == 0 { return nil }
        let longest = source == .token ? longest.token : longest.channel
        return min(
            now.milliseconds + longest,
            shipment.expiration.map { $0.multipliedReportingOverflow(by: 1000) }
                .map { $0.overflow ? .max : $0.partialValue } ?? .max
        )
    }

    /// Keeps a push in the place of what waited there.
    mutating func keep(_ mail: Mail, from source: Source, for phone: Int) {
        self.mail[phone, default: []].removeAll { $0.source == source }
        self.mail[phone, default: []].append((source, mail))
    }

    /// Hands out what waits for a phone and has not expired, in the order of arrival.
    mutating func take(for phone: Int, at now: Moment) -> [Mail] {
        (mail.removeValue(forKey: phone) ?? []).map(\.mail).filter { now.milliseconds < $0.until }
    }
}
