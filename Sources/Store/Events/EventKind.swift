extension Event {
    /// The word for what happened; snake case, `object_happened`. An open set: readers must expect more.
    package struct Kind: Sendable, Hashable, CustomStringConvertible {
        package let word: String

        private init(_ word: String) {
            self.word = word
        }

        package var description: String { word }

        /// One of ``known``; nil for any other word.
        package init?(known word: String) {
            guard Self.known.contains(Kind(word)) else { return nil }
            self.init(word)
        }

        /// A word that is in the table; a newer daemon may have written one that this one does not know.
        package init(stored word: String) {
            self.init(word)
        }

        /// All that this version writes.
        package static let known: [Kind] = [
            changeAccepted, changesMerged, pushesAnswered, demoted, tokenDied, tokenWaitOverdue, scheduleFailed,
            clockSkew,
            providerHalted, providerResumed, channelLost, channelUnknown, channelReclaimed, channelRefused,
            channelQuotaLow, pushSent, pushFailed, incompatibleVersion, alertDropped, webhookPaused, webhookGap,
        ]
    }
}

extension Event.Kind {
    /// A change was accepted. Not a row of `events`: the change's own row is its event.
    package static let changeAccepted = Event.Kind("change_accepted")
    /// Changes were replaced by a newer one before any push of them left.
    package static let changesMerged = Event.Kind("changes_merged")
    /// Pushes of a change were answered; many of them count as one event.
    package static let pushesAnswered = Event.Kind("pushes_answered")
    /// A change was sent with less priority than it asked for.
    package static let demoted = Event.Kind("demoted")
    /// APNs says that a token is no longer active.
    package static let tokenDied = Event.Kind("token_died")
    /// A started phone has not reported its update token in time.
    package static let tokenWaitOverdue = Event.Kind("token_wait_overdue")
    /// Apps of a version follow an activity and cannot decode its newest state, which is therefore withheld from them;
    /// said once for each version of the app until that changes.
    package static let incompatibleVersion = Event.Kind("incompatible_version")
    /// Phones got a state without the older alert that they were owed: both together were too large for a push.
    package static let alertDropped = Event.Kind("alert_dropped")
    /// A schedule could not be run and will not be.
    package static let scheduleFailed = Event.Kind("schedule_failed")
    /// The database's clock stepped back.
    package static let clockSkew = Event.Kind("clock_skew")
    /// Sending for an app and environment stands still: too many answers were rejections of tokens.
    package static let providerHalted = Event.Kind("provider_halted")
    /// It goes on.
    package static let providerResumed = Event.Kind("provider_resumed")
    /// A channel is gone at Apple although nobody had deleted it.
    package static let channelLost = Event.Kind("channel_lost")
    /// Apple has channels that we have no record of, and has had them for a minute; said once of each.
    package static let channelUnknown = Event.Kind("channel_unknown")
    /// An unknown channel, or one of ours that had come back, was deleted.
    package static let channelReclaimed = Event.Kind("channel_reclaimed")
    /// Apple refused to make the channel of an activity; said once for each reason in a row.
    package static let channelRefused = Event.Kind("channel_refused")
    /// Few channels are left of those that Apple gives an app.
    package static let channelQuotaLow = Event.Kind("channel_quota_low")
    /// APNs took an ordinary push.
    package static let pushSent = Event.Kind("push_sent")
    /// An ordinary push was refused, or could not be sent by its deadline.
    package static let pushFailed = Event.Kind("push_failed")
    /// Tally has paused a webhook, because its address accepted nothing for 24 hours or is gone.
    package static let webhookPaused = Event.Kind("webhook_paused")
    /// Events were deleted by age before a webhook's address accepted them.
    package static let webhookGap = Event.Kind("webhook_gap")
}
