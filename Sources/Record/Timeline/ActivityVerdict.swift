import APITypes
import ActivityModel

/// Says how far the newest state of an activity has come. Pure.
enum ActivityVerdict {
    static func of(
        _ activity: ActivityResource,
        isHalted: Bool,
        channels: ChannelHistory = ChannelHistory()
    ) -> Verdict {
        let progress = activity.progress
        if isHalted { return .halted }
        if activity.state == .scheduled {
            let time = activity.startsAt.map { " at \($0)" } ?? ""
            return Verdict("scheduled", "The activity starts\(time). Nothing has been sent yet.")
        }
        let missing = missing(activity)
        let newest =
            activity.state == .ended ? "The end (revision \(activity.revision))" : "Revision \(activity.revision)"
        if let verdict = nobodyListens(activity, channels, newest) { return verdict.adding(missing) }
        let channel = channelWords(channels)
        guard progress.destinations > 0 else {
            return Verdict(missing == nil ? "nobody" : "unreached", "\(newest) has nobody to be sent to.")
                .adding(missing).adding(channel)
        }
        let current = EntryWords.grouped(progress.current)
        let all = EntryWords.grouped(progress.destinations)
        guard progress.pending == 0 else {
            return Verdict(
                "pending",
                "\(newest) is on its way: APNs has accepted it for \(current) of \(all) destinations."
            ).adding(missing).adding(channel)
        }
        let whole = progress.destinations == 1 ? "the only destination" : "all \(all) destinations"
        return Verdict("sent", "\(newest) was accepted by APNs for \(whole).").adding(missing).adding(channel)
    }

    /// Of an activity that is served by a channel alone, if no card listens to a channel of it.
    private static func nobodyListens(
        _ activity: ActivityResource,
        _ channels: ChannelHistory,
        _ newest: String
    ) -> Verdict? {
        guard activity.delivery == .channel else { return nil }
        // Who had the end before the channel was lost misses nothing.
        let isComplete = activity.state == .ended && activity.progress.pending == 0
        if let lostAt = channels.lostAt, activity.channel?.followers ?? 0 == 0, !isComplete {
            let successor =
                channels.isReplaced
                ? "Tally knows of no card on the channel that took its place." : "No channel took its place."
            return Verdict(
                "channel_gone",
                "Apple has lost the activity's channel, as Tally found at \(lostAt). Cards on it hear nothing any more. "
                    + successor
            ).adding(channels.refusal.map { "Apple has not made that channel yet: \($0)." })
        }
        guard channels.isAwaited else { return nil }
        guard let refusal = channels.refusal else {
            return Verdict("pending", "\(newest) waits for the activity's channel, which Apple has not made yet.")
        }
        return Verdict(
            "channel_missing",
            "\(newest) has reached nobody: Apple has not made the activity's channel (\(refusal)). Tally keeps asking for it."
        )
    }

    /// What is wrong with a channel, said beside what the other destinations got.
    private static func channelWords(_ channels: ChannelHistory) -> String? {
        if channels.isAwaited {
            return "Apple has not made the activity's channel yet" + (channels.refusal.map { ": \($0)." } ?? ".")
        }
        let lost = channels.isReplaced ? "an earlier channel" : "the activity's channel"
        return channels.lostAt.map {
            "Apple has lost \(lost), as Tally found at \($0): cards on that hear nothing any more."
        }
    }

    private static func missing(_ activity: ActivityResource) -> String? {
        let progress = activity.progress
        let starts = activity.starts
        let counts = [
            (progress.waitingForToken, "waiting for an update token"),
            (progress.waitingToBegin, "scheduled by their apps and waiting to begin"),
            (progress.dead, "with a dead token"),
            (progress.withheld, "withheld or with a rejected token"), (starts.pending, "about to be started"),
            (starts.unanswered, "started without an answer"), (starts.withheld, "not started, for the time being"),
            (starts.failed, "whose start was refused"),
        ].filter { $0.0 > 0 }.map { "\(EntryWords.grouped($0)) \($1)" }
        let others = (starts.enrolling ? ["phones that Tally still adds"] : []) + counts
        return others.isEmpty ? nil : "Not among them: \(others.joined(separator: ", "))."
    }
}
