import APITypes
import APNSTransport
import ActivityModel
import Store

/// Why a card shows what it shows.
struct CardVerdict {
    let story: DeviceStory
    let card: DeviceStory.Card

    private var newest: Revision { story.activity.newest }
    /// What is newest, as the beginning of a sentence.
    private var newestWords: String {
        story.activity.state == .ended ? "The end (revision \(newest))" : "Revision \(newest)"
    }

    var verdict: Verdict {
        guard let shown = card.shown else { return withoutReceipt }
        guard shown.revision >= newest, card.state == .riding || card.state == .due else {
            return withoutReceipt.adding(
                "The phone last confirmed revision \(shown.revision): its card showed it at \(shown.at) at the latest."
            )
        }
        return Verdict(
            "shown",
            "The phone confirmed \(newestWords.lowercasedFirst): its card showed it at \(shown.at) at the latest."
        )
    }

    /// By what Tally sent, and what APNs answered.
    private var withoutReceipt: Verdict { byState.adding(notBegun) }

    private var byState: Verdict {
        switch card.state {
        case .over: over
        case .waitingForToken: waiting
        case .dead: dead
        case .rejected: rejected
        case .withheld where waitsToBegin: waitingToBegin
        case .withheld: withheld
        case .riding where card.mode == .channel: onChannel
        case .riding where card.sentRevision >= newest: delivered
        case .riding, .due: pending
        }
    }

    // MARK: Not sent to

    private var over: Verdict {
        switch card.reason.flatMap(OverReason.init) {
        case .expired where card.pendingSince != nil:
            Verdict(
                "expired",
                "The app last reported the card as pending at \(card.startedAt), more than 30 days ago. Tally sends "
                    + "nothing more until the app reports it again."
            )
        case .expired:
            Verdict(
                "expired",
                "The card was started at \(card.startedAt), more than 8 hours ago. The system has ended it, and "
                    + "Tally sends nothing more."
            )
        case .environmentChanged:
            Verdict("other_environment", "The app was reinstalled in the other environment, so its card is gone.")
        case .channelLost:
            Verdict(
                "channel_gone",
                "Apple has lost the activity's channel. A card cannot move to another one, so this one hears nothing any "
                    + "more."
            )
        case .channelDeleted:
            Verdict(
                "channel_gone",
                "The activity's channel was deleted before this phone could be told the newest state."
            )
        case .tokenMoved:
            Verdict(
                "token_moved",
                "Another device has reported this card's update token since. Tally sends to that device alone."
            )
        case nil:
            Verdict("card_gone", "The phone reported that its card is gone. Tally sends nothing more.")
        }
    }

    private var waiting: Verdict {
        let late = card.isOverdue ? "That is longer than it should take. " : ""
        let woken = card.isWoken ? "The app was woken to report it. " : ""
        // On apps that follow one activity at a time it may be right.
        let hint =
            story.activity.hasIDAttribute
            ? "" : "The policy names no `id_attribute`, so the app may not know which activity its card belongs to. "
        return Verdict(
            card.isOverdue ? "token_overdue" : "waiting_for_token",
            "The card was started at \(card.startedAt), and the app has not reported its update token since. "
                + late + woken + hint + "\(newestWords) goes out the moment it does."
        )
    }

    private var dead: Verdict {
        let push = story.lastPush.flatMap { $0.outcome == .tokenDead ? $0 : nil }
        let time = push.map { " at \($0.at)" } ?? ""
        return Verdict(
            "token_dead",
            "APNs said\(time) that the update token is no longer active (\(reason(push))): the card is gone, or the "
                + "token has changed. Tally waits until the app reports a new one."
        )
    }

    private var rejected: Verdict {
        // Such rejections are why it was halted: not the phone is wrong, but the key, the host or the topic. An earlier
        // rejection has another cause, and the end of the halt leaves its token alone.
        if card.isSuspect {
            return .halted.adding(
                "APNs rejected this card's update token, too (\(reason(story.lastPush))). Without `--leave-rejected`, a resume "
                    + "tries it again."
            )
        }
        return Verdict(
            "token_rejected",
            "APNs does not take the update token here (\(reason(story.lastPush))): it may belong to the other "
                + "environment or to another app. Tally waits until the app reports it again."
        )
    }

    private var withheld: Verdict {
        Verdict(
            "incompatible_version",
            "\(newestWords) is not sent: the app on the device\(appVersion) could not decode it. The next "
                + "state is sent if the app can decode it, or when the app is updated."
        )
    }

    // MARK: Not begun

    private var waitsToBegin: Bool { card.state == .withheld && card.reason == WithheldReason.pending }

    private var waitingToBegin: Verdict {
        let since = card.pendingSince.map { " at \($0)" } ?? ""
        return Verdict(
            "waiting_to_begin",
            "The app has scheduled the card, and reported it as pending\(since). By the policy (`pending_updates`) "
                + "\(newestWords.lowercasedFirst) goes out when the app reports that the card is active. An end goes out "
                + "at once."
        )
    }

    /// Said of a card that is sent updates all the same.
    private var notBegun: String? {
        guard let since = card.pendingSince, card.state != .over, !waitsToBegin else { return nil }
        return "The card has not begun: its app reported it as pending at \(since)."
    }

    // MARK: On the way

    private var pending: Verdict {
        if story.activity.isHalted { return .halted }
        if let reason = card.reason {
            return Verdict(
                "retrying",
                "\(newestWords) has not reached APNs yet: \(reason). It is tried again"
                    + (card.dueAt.map { " at \($0)." } ?? ".")
            )
        }
        if let heldBack { return heldBack }
        if let refusedForNow { return refusedForNow }
        let has = card.sentRevision > 0 ? " It was last sent revision \(card.sentRevision)." : ""
        return Verdict("pending", "\(newestWords) is about to be sent to this phone.\(has)")
    }

    /// Set if the last push to this phone has come to nothing, and no later one was accepted: its whole ring waits, and is
    /// tried again.
    private var refusedForNow: Verdict? {
        guard let push = story.lastPush, let outcome = push.outcome, let revision = push.revision,
            revision > card.sentRevision, [.retry, .credential, .unknown, .notSent].contains(outcome)
        else { return nil }
        let words = push.words.isEmpty ? "no answer" : push.words
        return Verdict(
            "retrying",
            "\(newestWords) has not reached APNs yet. The last try, at \(push.at) with revision \(revision), came to nothing: "
                + "\(words). It is tried again, with growing pauses."
        )
    }

    /// Nil if the newest revision waits for no other.
    private var heldBack: Verdict? {
        card.heldUntil.map { time in
            Verdict(
                "held_back",
                "\(newestWords) is held back until \(time): it is routine, and a rule of the type's policy spaces such "
                    + "changes out."
            )
        }
    }

    // MARK: Sent

    private var delivered: Verdict {
        if let push = story.lastPush, push.outcome == .requestInvalid, push.revision == newest {
            return Verdict(
                "refused",
                "APNs refused \(newestWords.lowercasedFirst) for good: \(push.words). The next change may be better."
            )
        }
        // A card that joins after a change was sent to the others has it without an update.
        return card.confirmedRevision >= newest && !wasPushedNewest ? current : accepted(by: "")
    }

    /// Whether the newest push to the phone was the newest revision to this card. An earlier card may have got that, too.
    private var wasPushedNewest: Bool {
        guard let push = story.lastPush else { return false }
        return push.revision == newest && push.at >= card.startedAt
    }

    private var current: Verdict {
        Verdict(
            "current",
            "The card has \(newestWords.lowercasedFirst): its start carried it, or its app reported it."
        )
    }

    private var onChannel: Verdict {
        guard let channel = story.channel, channel.state != .creating else {
            return Verdict(
                "channel_missing",
                "The activity has no channel at APNs yet"
                    + (story.channel?.reason.map { ": \($0)." } ?? ".")
            )
        }
        guard channel.sentRevision >= newest else {
            if story.activity.isHalted { return .halted }
            if let heldBack { return heldBack }
            return Verdict(
                "pending",
                "\(newestWords) is about to be broadcast; the channel has been sent revision \(channel.sentRevision)."
            )
        }
        let offline =
            channel.storage == .none
            ? "The channel stores nothing: a phone that was offline at that moment missed it, until the next broadcast."
            : "The channel stores it for phones that are offline."
        return accepted(by: " for the channel").adding(offline)
    }

    private func accepted(by way: String) -> Verdict {
        guard let spending = story.spending else { return current }
        if let push = story.lastPush, push.revision == newest, push.outcome == .accepted,
            let priority = push.priority, priority != spending.priority
        {
            return acceptedApart(at: priority)
        }
        let text = "\(newestWords) was accepted by APNs\(way) at priority \(spending.priority)"
        guard spending.priority == PushPriority.ten.rawValue else {
            let why = PriorityDecision.Reason(rawValue: spending.reason).map(EntryWords.words) ?? spending.reason
            return Verdict("sent_low_priority", "\(text): \(why). The phone may show it later, to save power.")
        }
        let budget =
            "\(spending.spent) of \(spending.units) such pushes within \(Self.words(seconds: spending.windowSeconds))"
        guard spending.spent > spending.units else {
            return Verdict(
                "sent",
                "\(text), within the budget (\(budget)). A phone that is online and still has the card shows it."
            )
        }
        return Verdict(
            "sent_over_budget",
            "\(text); this phone's budget was likely used up (\(budget)), so that it may show it late or not at all."
        )
    }

    /// The push to this phone had another priority than the revision has for most of its class.
    private func acceptedApart(at priority: Int) -> Verdict {
        let text = "\(newestWords) was accepted by APNs at priority \(priority)"
        if priority == PushPriority.ten.rawValue {
            return Verdict(
                "sent",
                "\(text): it brought the alert of an earlier revision, which has that priority. A phone that is "
                    + "online and still has the card shows it."
            )
        }
        return Verdict(
            "sent_low_priority",
            "\(text): it was sent to this phone later than to the others, which takes nothing of their budget. The phone "
                + "may show it later, to save power."
        )
    }

    // MARK: Parts

    /// The version of the app, as part of a sentence.
    private var appVersion: String {
        story.device?.appVersion.map { " (version \($0))" } ?? ", which does not say its version,"
    }

    private func reason(_ push: DeviceStory.Push?) -> String {
        card.reason ?? push?.words ?? "no reason is known"
    }

    private static func words(seconds: Int) -> String {
        if seconds > 0, seconds.isMultiple(of: 3600) { return "\(seconds / 3600) h" }
        return seconds > 0 && seconds.isMultiple(of: 60) ? "\(seconds / 60) min" : "\(seconds) s"
    }
}

extension String {
    /// For the middle of a sentence.
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
