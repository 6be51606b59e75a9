import APITypes
import ActivityModel

/// Says how far the newest state of an activity has come. Pure.
enum ActivityVerdict {
    static func of(_ activity: ActivityResource, isHalted: Bool) -> Verdict {
        let progress = activity.progress
        if isHalted { return .halted }
        if activity.state == .scheduled {
            let time = activity.startsAt.map { " at \($0)" } ?? ""
            return Verdict("scheduled", "The activity starts\(time). Nothing has been sent yet.")
        }
        let missing = missing(activity)
        let newest =
            activity.state == .ended ? "The end (revision \(activity.revision))" : "Revision \(activity.revision)"
        guard progress.destinations > 0 else {
            return Verdict(missing == nil ? "nobody" : "unreached", "\(newest) has nobody to be sent to.")
                .adding(missing)
        }
        let current = EntryWords.grouped(progress.current)
        let all = EntryWords.grouped(progress.destinations)
        guard progress.pending == 0 else {
            return Verdict(
                "pending",
                "\(newest) is on its way: APNs has accepted it for \(current) of \(all) destinations."
            ).adding(missing)
        }
        let whole = progress.destinations == 1 ? "the only destination" : "all \(all) destinations"
        return Verdict("sent", "\(newest) was accepted by APNs for \(whole).").adding(missing)
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
