import APITypes
import ActivityModel

/// Why a device that was to be started by push has no card that Tally knows of.
struct StartVerdict {
    let story: DeviceStory
    let start: DeviceStory.Start

    var verdict: Verdict {
        switch start.state {
        case .pending: pending
        case .claimed: Verdict("start_in_flight", "The start is on its way to APNs at this moment.")
        case .unknown: unknown
        case .sent: sent
        case .settled:
            Verdict(
                "card_forgotten",
                "The phone reported its card once, and it was forgotten since: the backend asked for that."
            )
        case .withheld: withheld
        case .failed:
            Verdict(
                "start_failed",
                "APNs refused the start: \(start.reason ?? "no reason is known"). Tally tries again when the "
                    + "device registers again."
            ).adding(besideHalt)
        case .cancelled: cancelled
        }
    }

    private var pending: Verdict {
        if story.activity.isHalted { return .halted }
        if let reason = start.reason {
            return Verdict(
                "start_retrying",
                "The start did not arrive: \(reason). It is tried again\(time(start.dueAt))."
            )
        }
        if let channel = story.channel, channel.state == .creating {
            return Verdict(
                "channel_missing",
                "The start waits for the activity's channel, which APNs has not made yet"
                    + (channel.reason.map { ": \($0)." } ?? ".")
            )
        }
        return Verdict("start_pending", "The start is about to be sent.")
    }

    private var unknown: Verdict {
        let text = "The start left\(time(start.claimedAt)), and no answer came: it may have arrived."
        guard start.attempts < StartStateMachine.maximumAttempts, start.dueAt != nil else {
            let repeated =
                start.attempts > 1
                ? " It was repeated once, and the phone has still reported no card."
                : " The phone has reported no card, and the activity is over."
            return Verdict("start_unknown", text + repeated)
        }
        return Verdict(
            "start_unknown",
            text + " Unless the phone reports its card, it is repeated once\(time(start.dueAt))."
        )
    }

    private var sent: Verdict {
        Verdict(
            "start_sent",
            "APNs accepted the start\(time(start.claimedAt)), and the phone has reported no card. It was offline "
                + "then, it dropped the start, or its app was not woken."
        )
    }

    private var withheld: Verdict {
        Verdict("withheld", "The device is not started: \(obstacle)")
            .adding(start.hasFallenBack ? "An ordinary alert was sent instead." : nil)
            .adding(start.reason == StartStateMachine.Reason.noStartToken.rawValue ? besideHalt : nil)
    }

    /// Tokens that APNs rejects in masses cause a halt. The end of the halt tries the start again if the token of this device
    /// is one of them.
    private var besideHalt: String? {
        guard story.device?.hasSuspectStartToken == true else { return nil }
        return
            "Besides, sending is halted for this app and environment, because APNs rejected too many tokens. The start token "
            + "of this device is one of them: without `--leave-rejected`, a resume tries it again."
    }

    private var obstacle: String {
        guard let reason = start.reason else { return "no reason is known." }
        if let incapacity = DeviceCapability.WithheldReason(rawValue: reason) { return Self.words(incapacity) }
        switch StartStateMachine.Reason(rawValue: reason) {
        case .incompatibleVersion:
            let version = story.device?.appVersion.map { "(version \($0)) " } ?? ""
            return "its app \(version)could not decode the attributes or the newest state. "
                + "It is when a state comes that it can, or when the app was updated."
        case .noStartToken: return "its app has reported no start token that is alive for this activity type."
        case .startBudget:
            return "the starts that a phone accepts within the window are used up. Tally starts it"
                + (start.dueAt.map { " at \($0)." } ?? " when it registers again.")
        case .notInAudience, .environmentChanged, nil: return "\(reason)."
        }
    }

    private static func words(_ reason: DeviceCapability.WithheldReason) -> String {
        switch reason {
        case .needsIOS172: "it has an iOS before 17.2, which cannot start a Live Activity by push."
        case .needsIOS18:
            "the activity is served by a channel only, which needs iOS 18, and the device has an older or unknown "
                + "version."
        case .activitiesDisabled: "its user has switched Live Activities off for the app."
        }
    }

    private var cancelled: Verdict {
        switch start.reason.flatMap(StartStateMachine.Reason.init) {
        case .environmentChanged:
            Verdict(
                "other_environment",
                "The app was reinstalled in the other environment, so Tally gave the start up."
            )
        case _ where story.activity.state == .ended:
            Verdict("ended", "The activity ended before the device could be started.")
        default:
            Verdict("not_followed", "The device was taken out of the audience before it was started.")
        }
    }

    private func time(_ instant: Instant?) -> String { instant.map { " at \($0)" } ?? "" }
}

extension Verdict {
    /// Nothing leaves at all.
    static var halted: Verdict {
        Verdict(
            "halted",
            "Tally has halted sending for this app in this environment: APNs rejected too many tokens. A wrong key, "
                + "host or topic is likely. An operator has to look. If the key is right and the tokens are wrong, for "
                + "example of sandbox builds that report to production, resume with `--leave-rejected`."
        )
    }
}
