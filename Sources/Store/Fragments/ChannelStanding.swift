/// SQL about what becomes of a channel: rows of `channels`.
package enum ChannelStanding {
    /// The condition that the channel serves its activity. One that Apple has lost serves none, and has a successor.
    package static func serves(_ c: String) -> String { "\(c).lost_at IS NULL" }

    /// An order of the channels of an activity: first the one that serves it, then the one that was lost last.
    package static func servingFirst(_ c: String) -> String { "\(c).lost_at DESC NULLS FIRST" }

    /// The condition that the channel serves its activity and that Apple has it: broadcasts reach the phones that listen.
    package static func isReady(_ c: String) -> String { "(\(c).state = 'ready' AND \(serves(c)))" }

    /// The condition that the channel is to serve its activity, and that Apple has not made it yet.
    package static func isAwaited(_ c: String) -> String { "(\(c).state = 'creating' AND \(serves(c)))" }

    /// The condition that a hybrid activity does without the channel until Apple makes it: Apple has refused it for half a
    /// minute. Everyone is started by token then. `a` is the row of the activity.
    package static func isPassedOver(_ c: String, of a: String) -> String {
        """
        (\(a).delivery = 'hybrid' AND \(c).state = 'creating' AND \(c).reason IS NOT NULL
            AND \(a).started_at < clock_timestamp() - interval '30 seconds')
        """
    }

    /// The condition that Apple has the channel, for all that is known: it counts for the app's quota.
    package static func isAtApple(_ c: String) -> String { "\(c).state IN ('ready', 'deleting')" }

    /// The condition that the channel is deleted at Apple, now or when its grace time is over.
    package static func awaitsDeletion(_ c: String) -> String { "(\(c).delete_at IS NOT NULL AND \(isAtApple(c)))" }

    /// The condition that Apple has the channel no more.
    package static func isGone(_ c: String) -> String { "(\(c).state IN ('deleted', 'lost'))" }
}
