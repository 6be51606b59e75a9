package import JSON

/// The sizes of the largest bodies that one accepted state may come to be rendered in (promise 4).
///
/// A state does not travel only in the push of its own change: the newest unsent alert rides on it, later an end
/// without a state of its own carries it, and phones that join are started with it. So all of these are measured at
/// accept, and what is accepted can always be sent. A stale date always counts: the policy may come to ask for one.
package struct BodySizes: Sendable, Hashable {
    /// A stamp for measuring; every stamp until the year 2286 has as many digits.
    private static let stamp: Timestamp = 1_800_000_000
    /// Room for an APNs channel id that is not known yet. Samples have 24 characters; Apple guarantees no length.
    private static let placeholderChannel = APNSChannelID(stored: String(repeating: "A", count: 64))

    /// The largest body that may go to a device.
    package private(set) var device = 0
    /// The largest body that may go to the channel; 0 if there is none.
    package private(set) var broadcast = 0
    /// Attributes and content state together.
    package private(set) var stored = 0

    /// What may be combined with a state.
    package struct Combination: Sendable, Hashable {
        /// The activity's type.
        package var type: ActivityTypeName
        /// The activity's attributes.
        package var attributes: CompactJSON
        /// How it is delivered.
        package var delivery: Delivery
        /// The alert of its start; `nil` if nobody is started by push.
        package var startAlert: AlertContent?
        /// Every alert that may ride on the state: its own, the newest unsent one, those of open barriers.
        package var alerts: [AlertContent] = []
        /// Whether it is the last state: it travels in the end alone.
        package var isEnd = false
        /// The largest relevance score that may be carried.
        package var relevanceScore: JSONNumber?

        /// A combination without alerts and score.
        package init(type: ActivityTypeName, attributes: CompactJSON, delivery: Delivery) {
            self.type = type
            self.attributes = attributes
            self.delivery = delivery
        }
    }

    /// Measures a state with all that it may be combined with, the activity's channel included if it has one already.
    init(contentState: CompactJSON, in combination: Combination, channel: APNSChannelID? = nil) {
        stored = combination.attributes.count + contentState.count
        let change = Self.largestChange(contentState, combination)
        if combination.delivery != .channel { device = change }
        if combination.delivery.usesChannel { broadcast = change }
        if combination.startAlert != nil, !combination.isEnd {
            device = max(device, Self.start(contentState, combination, channel))
        }
    }

    /// The first limit that is broken: the phone's own before the transport's.
    var excess: SizeExcess? {
        SizeLimit.stored.excess(stored) ?? SizeLimit.device.excess(device) ?? SizeLimit.broadcast.excess(broadcast)
    }

    /// The first limit that a state breaks with all that it may be combined with; nil if it keeps them all.
    ///
    /// Most states are so far from every limit that nothing needs to be rendered to see it.
    package static func excess(of contentState: CompactJSON, in combination: Combination) -> SizeExcess? {
        let least = min(SizeLimit.stored.bytes, SizeLimit.device.bytes, SizeLimit.broadcast.bytes)
        if bound(contentState, combination) <= least { return nil }
        return BodySizes(contentState: contentState, in: combination).excess
    }

    /// More bytes than any of the sizes.
    static func bound(_ contentState: CompactJSON, _ combination: Combination) -> Int {
        let alerts = combination.alerts + [combination.startAlert].compactMap { $0 }
        return envelope + contentState.count + combination.attributes.count
            + AlertContent.bound(combination.type.rawValue)
            + (combination.relevanceScore?.digits.utf8.count ?? 0) + (alerts.map(\.bound).max() ?? 0)
    }

    /// More than all keys, dates, punctuation and the longest channel id make together.
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
        LiveActivityBody.Content(
            contentState: contentState,
            alert: alert,
            staleAfterSeconds: 0,
            relevanceScore: combination.relevanceScore
        )
    }
}
