import JSON

/// The sizes of the largest bodies that Tally may ever render from one accepted state (promise 4).
///
/// A state is sent in more than the push of its own change. The newest unsent alert travels with it. A later end
/// without a state repeats it. Phones that join are started with it. Tally measures all of these at accept, so that
/// every accepted state can be sent. A stale date always counts, because a later policy may ask for one.
package struct BodySizes: Sendable, Hashable {
    /// A stamp for measuring. All stamps until the year 2286 have the same number of digits.
    private static let stamp: Timestamp = 1_800_000_000
    /// A placeholder for an APNs channel id that is not known yet. Samples have 24 characters; Apple guarantees no
    /// length.
    private static let placeholderChannel = APNSChannelID(stored: String(repeating: "A", count: 64))

    /// The largest possible body for a device.
    package private(set) var device = 0
    /// The largest possible body for the channel; 0 without a channel.
    package private(set) var broadcast = 0
    /// Attributes and content state together.
    package private(set) var stored = 0

    /// The values that a state may be combined with.
    package struct Combination: Sendable, Hashable {
        /// The activity's type.
        package var type: ActivityTypeName
        /// The activity's attributes.
        package var attributes: CompactJSON
        /// How it is delivered.
        package var delivery: Delivery
        /// The alert of its start; `nil` if no start is sent by push.
        package var startAlert: AlertContent?
        /// Every alert that may travel with the state: its own, the newest unsent one, and those of open barriers.
        package var alerts: [AlertContent] = []
        /// Whether it is the last state, which only the end carries.
        package var isEnd = false
        /// The longest hints that may be sent with it.
        package var hints = CardHints()

        /// Creates a combination without alerts and hints.
        package init(type: ActivityTypeName, attributes: CompactJSON, delivery: Delivery) {
            self.type = type
            self.attributes = attributes
            self.delivery = delivery
        }
    }

    /// Measures a state in all its combinations, with the activity's channel id if it is known.
    init(contentState: CompactJSON, in combination: Combination, channel: APNSChannelID? = nil) {
        stored = combination.attributes.count + contentState.count
        let change = Self.largestChange(contentState, combination)
        if combination.delivery != .channel { device = change }
        if combination.delivery.usesChannel { broadcast = change }
        if combination.startAlert != nil, !combination.isEnd {
            device = max(device, Self.start(contentState, combination, channel))
        }
    }

    /// The first exceeded limit; the phone's limit is checked before those of APNs.
    var excess: SizeExcess? {
        SizeLimit.stored.excess(stored) ?? SizeLimit.device.excess(device) ?? SizeLimit.broadcast.excess(broadcast)
    }

    /// The first limit that a state exceeds in any of its combinations; `nil` if it exceeds no limit.
    ///
    /// Most states are so small that an estimate suffices, without rendering.
    package static func excess(of contentState: CompactJSON, in combination: Combination) -> SizeExcess? {
        let least = min(SizeLimit.stored.bytes, SizeLimit.device.bytes, SizeLimit.broadcast.bytes)
        if bound(contentState, combination) <= least { return nil }
        return BodySizes(contentState: contentState, in: combination).excess
    }

    /// An upper bound of all the sizes.
    static func bound(_ contentState: CompactJSON, _ combination: Combination) -> Int {
        let alerts = combination.alerts + [combination.startAlert].compactMap { $0 }
        return envelope + contentState.count + combination.attributes.count
            + AlertContent.bound(combination.type.rawValue)
            + combination.hints.bound + (alerts.map(\.bound).max() ?? 0)
    }

    /// An upper bound of all keys, dates, punctuation and the longest channel id together.
    private static let envelope = 512

    private static func largestChange(_ contentState: CompactJSON, _ combination: Combination) -> Int {
        let alerts: [AlertContent?] = combination.alerts.isEmpty ? [nil] : combination.alerts
        let sizes = alerts.map { alert in
            let end = LiveActivityBody.end(
                contentState: contentState,
                alert: alert,
                dismissal: .after(seconds: Policy.maximumDismissal),
                timestamp: stamp
            )
            if combination.isEnd { return end.count }
            let update = LiveActivityBody.update(content(contentState, alert, combination), timestamp: stamp)
            return max(update.count, end.count)
        }
        return sizes.max() ?? 0
    }

    private static func start(
        _ contentState: CompactJSON,
        _ combination: Combination,
        _ channel: APNSChannelID?
    ) -> Int {
        let body = LiveActivityBody.start(
            combination.type,
            attributes: combination.attributes,
            content: content(contentState, combination.startAlert, combination),
            timestamp: stamp,
            inputPush: combination.delivery.usesChannel ? .channel(channel ?? placeholderChannel) : .token
        )
        return body.count
    }

    private static func content(
        _ contentState: CompactJSON,
        _ alert: AlertContent?,
        _ combination: Combination
    ) -> LiveActivityBody.Content {
        var hints = combination.hints
        hints.staleAfterSeconds = 0
        return LiveActivityBody.Content(contentState: contentState, alert: alert, hints: hints)
    }
}
