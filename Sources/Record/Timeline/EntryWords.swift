import APITypes
import APNSTransport
import ActivityModel
import Store

/// What an entry of the timeline says to people. Pure: everything it says stands in the entry's fields.
enum EntryWords {
    static func text(of entry: TimelineEntry) -> String {
        switch entry.kind {
        case "accepted": accepted(entry)
        case "priority": priority(entry)
        case "push": push(entry)
        case "batch": batch(entry)
        case "refused":
            "\(article(entry.event)) was refused: \(reason(entry)). Nothing changed, and nothing was sent."
        case "lost":
            "\(grouped(entry.counts?.values.reduce(0, +) ?? 0)) entries are missing here: there was more to tell than could be written."
        case "registered": registered(entry)
        case "shown":
            "The phone confirmed \(revision(entry).lowercased()): its card showed it \(milliseconds(Double(entry.delayMilliseconds ?? 0))) ms after its accept at the latest."
        default: events[Event.Kind(stored: entry.kind)]?(entry) ?? "\(entry.kind.replacing("_", with: " "))."
        }
    }

    /// The events that the timeline tells: those that say what nothing else there does.
    static let events: [Event.Kind: @Sendable (TimelineEntry) -> String] = [
        .tokenDied: { "APNs says that the \($0.event ?? "") token is no longer active (\(reason($0)))." },
        .tokenWaitOverdue: { _ in "The update token was not reported in time. It is still waited for." },
        .scheduleFailed: { "\(article($0.event)) that was due was refused: \(reason($0))." },
        .channelLost: { _ in "Apple has lost the channel. Its cards cannot be told anything any more." },
        .channelRefused: { "Apple refuses to make the channel: \(reason($0))." },
        .incompatibleVersion: { entry in
            let apps = entry.reason.map { "of version \($0)" } ?? "that do not say their version"
            return "\(revision(entry)) is withheld from apps \(apps): they could not decode it."
        },
        .alertDropped: {
            "\(revision($0)) went out without an older alert that was still owed: both together do not fit in a push."
        },
    ]

    // MARK: Changes

    private static func accepted(_ entry: TimelineEntry) -> String {
        var parts = [entry.event ?? "change"]
        if let urgency = entry.urgency, urgency != .routine { parts.append(urgency.rawValue) }
        if entry.hasAlert == true { parts.append("with an alert") }
        if entry.mustDeliver == true { parts.append("must be delivered") }
        let text = "\(revision(entry)) was accepted: \(parts.joined(separator: ", "))."
        guard let merged = entry.mergedInto else { return text }
        return text + " Before APNs accepted an update with it, it was merged into revision \(merged)."
    }

    private static func priority(_ entry: TimelineEntry) -> String {
        let phones =
            switch entry.budgetClass {
            case "channel": " on the channel"
            case "frequent": " for phones that allow frequent pushes"
            case "ordinary": " for ordinary phones"
            // The same for all.
            default: ""
            }
        let text = "\(revision(entry)) leaves at priority \(entry.priority ?? 0)\(phones)"
        if let explanation = entry.explanation { return "\(text). \(explanation)" }
        let why = entry.reason.flatMap(PriorityDecision.Reason.init(rawValue:)).map(words) ?? reason(entry)
        return "\(text): \(why)."
    }

    /// Why a push has its priority, as part of a sentence.
    static func words(_ reason: PriorityDecision.Reason) -> String {
        switch reason {
        case .start: "a start is always urgent"
        case .end: "the end passes every budget"
        case .alert: "it has an alert, and the budget allows it"
        case .critical: "it is critical, and the budget allows it"
        case .notable: "it is notable, and the budget allows it"
        case .routine: "nothing about it is urgent"
        case .alertOverBudget: "it has an alert, but only the unit that is kept for the end was left of the budget"
        case .criticalOverBudget: "it is critical, but only the unit that is kept for the end was left of the budget"
        case .notableOverBudget: "it is notable, but only the reserve was left of the budget"
        }
    }

    // MARK: Pushes

    private static func push(_ entry: TimelineEntry) -> String {
        let said = answer(entry.outcome.flatMap(PushOutcome.Word.init), reason(entry))
        let text = "\(what(entry)) \(said)"
        var notes: [String] = []
        if let priority = entry.priority { notes.append("priority \(priority)") }
        if let latency = entry.latencyMilliseconds { notes.append("\(milliseconds(latency)) ms") }
        return notes.isEmpty ? text + "." : "\(text) (\(notes.joined(separator: ", ")))."
    }

    /// What was sent, as the beginning of a sentence.
    private static func what(_ entry: TimelineEntry) -> String {
        let number = entry.revision.map { " with revision \($0)" } ?? ""
        let way = entry.segment == -1 ? "The broadcast of the" : "The"
        return switch entry.event {
        case "alert": "The ordinary alert instead of a card"
        case "wake": "The wake-up of the app"
        case "continued": "The end of the card that a new one continues"
        case "end" where entry.revision == nil: "The end, without the state that the app could not decode,"
        case let event?: "\(way) \(event)\(number)"
        case nil: "The push"
        }
    }

    /// What APNs' answer means, as the end of a sentence.
    static func answer(_ outcome: PushOutcome.Word?, _ reason: String) -> String {
        switch outcome {
        case .accepted: "was accepted by APNs"
        case .tokenDead: "was refused by APNs: the token is no longer active, \(reason)"
        case .tokenRejected: "was refused by APNs: it does not take this token here, \(reason)"
        case .channelGone: "was refused by APNs: the channel does not exist, \(reason)"
        case .requestInvalid: "was refused by APNs for good: \(reason)"
        case .credential: "was refused by APNs, an operator has to act: \(reason)"
        case .retry: "was refused by APNs for now: \(reason)"
        case .unknown: "left, and no answer came: \(reason)"
        case .notSent: "did not leave: \(reason)"
        case nil: "was answered: \(reason)"
        }
    }

    private static func batch(_ entry: TimelineEntry) -> String {
        let counts = (entry.counts ?? [:]).sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let total = counts.reduce(0) { $0 + $1.value }
        let answers = counts.map { "\(grouped($0.value)) × \($0.key)" }.joined(separator: ", ")
        let notes = entry.priority.map { " (priority \($0))" } ?? ""
        return "\(what(entry)) went to \(grouped(total)) phones: \(answers)\(notes)."
    }

    private static func registered(_ entry: TimelineEntry) -> String {
        entry.event == "channel"
            ? "The phone reported that its card listens to the channel." : "The phone reported its card's update token."
    }

    // MARK: Parts

    private static func revision(_ entry: TimelineEntry) -> String {
        "Revision \(entry.revision.map { String($0) } ?? "?")"
    }

    private static func article(_ event: String?) -> String {
        switch event {
        case "update": "An update"
        case "end": "An end"
        case let event?: "A \(event)"
        case nil: "A request"
        }
    }

    private static func reason(_ entry: TimelineEntry) -> String {
        let parts = [entry.status.map { String($0) }, entry.reason].compactMap { $0 }
        return parts.isEmpty ? "no reason is known" : parts.joined(separator: " ")
    }

    private static func milliseconds(_ value: Double) -> String {
        value < 10 ? String(Double(Int(value * 10)) / 10) : String(Int(value))
    }

    /// Digits in groups of three.
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }
}
