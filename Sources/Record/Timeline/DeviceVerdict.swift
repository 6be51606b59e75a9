import APITypes
import ActivityModel

/// Says why a device shows what it shows. Pure: a table of what may be known of it, and what that means.
enum DeviceVerdict {
    static func of(_ story: DeviceStory) -> Verdict {
        guard let device = story.device else {
            return Verdict("unknown_device", "No such device is registered for this app, or it was deleted.")
        }
        if let card = story.card {
            return CardVerdict(story: story, card: card).verdict.adding(obstacleOfNextCard(story, card))
        }
        if let start = story.start { return StartVerdict(story: story, start: start).verdict }
        if device.environment != story.activity.environment {
            return Verdict(
                "other_environment",
                "The device is registered in \(device.environment.rawValue), and the activity lives in "
                    + "\(story.activity.environment.rawValue): nothing of it can reach this installation."
            )
        }
        return withoutAnything(story, device)
    }

    /// A start beside a card that Tally can send to is the start of the card that is to continue it.
    private static func obstacleOfNextCard(_ story: DeviceStory, _ card: DeviceStory.Card) -> String? {
        guard let start = story.start, card.state == .riding || card.state == .due else { return nil }
        switch start.state {
        case .withheld, .failed:
            return "A new card was to continue it and could not be started: \(start.reason ?? "no reason is known")."
        case .pending, .claimed, .unknown, .sent, .settled, .cancelled: return nil
        }
    }

    private static func withoutAnything(_ story: DeviceStory, _ device: DeviceStory.Device) -> Verdict {
        switch story.activity.state {
        case .scheduled:
            let time = story.activity.startsAt.map { " at \($0)" } ?? ""
            return Verdict("scheduled", "The activity starts\(time). Nothing has been sent yet.")
        case .live where device.isWanted && device.obstacle != nil:
            // What can be sent nothing has no start on record.
            return StartVerdict(story: story, start: .init(state: .withheld, reason: device.obstacle)).verdict
        case .live where device.isWanted && story.activity.isHalted: return .halted
        case .live where device.isWanted:
            return Verdict("start_pending", "The device is in the audience, and its start is about to be prepared.")
        case .live:
            return Verdict(
                "not_followed",
                "The device is not in the audience, and its app has reported no card of this activity."
            )
        case .ended:
            return Verdict(
                "not_followed",
                "The activity has ended, and nothing of it was ever sent to this device: it was not in the "
                    + "audience, and its app reported no card."
            )
        }
    }
}

extension Verdict {
    /// The same with another sentence at its end; nil adds nothing.
    func adding(_ sentence: String?) -> Verdict {
        sentence.map { Verdict(code, "\(text) \($0)") } ?? self
    }
}
