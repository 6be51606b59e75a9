import APITypes
import ActivityModel

/// A timeline for people: the summary, then the entries day by day, the newest last.
struct TimelineText {
    /// The column where the entries' sentences begin.
    private static let margin = 16

    let answer: TimelineAnswer
    let style: Style
    var width = Terminal.easyWidth

    var text: String {
        (heading + [""] + entries).joined(separator: "\n")
    }

    private var heading: [String] {
        let whose = answer.deviceID.map { " on \($0)" } ?? ""
        let title = "\(answer.activityID)\(whose): \(answer.state.rawValue), revision \(answer.revision)"
        let verdict = WrappedText.lines(of: answer.verdict.text, width: width)
        return [style.text(title, .strong)] + verdict.map { style.text($0, Self.meaning(of: answer.verdict)) }
    }

    private var entries: [String] {
        guard !answer.page.items.isEmpty else { return ["Nothing is on record."] }
        var lines: [String] = []
        var day = ""
        for entry in answer.page.items.reversed() {
            let (date, time) = Self.dateAndTime(entry.at)
            if date != day {
                day = date
                lines.append(style.text("\(date) UTC", .strong))
            }
            lines += self.lines(of: entry, time: time)
        }
        return lines
    }

    private func lines(of entry: TimelineEntry, time: String) -> [String] {
        let blanks = String(repeating: " ", count: Self.margin)
        let room = width - Self.margin
        let whose = answer.deviceID == nil ? entry.deviceID.map { "\($0): " } ?? "" : ""
        var lines = WrappedText.lines(of: whose + entry.text, width: room).map {
            style.text($0, Self.meaning(of: entry))
        }
        // Apple's console finds a single push by this id.
        if answer.deviceID != nil, let id = entry.apnsUniqueID ?? entry.apnsID {
            let name = entry.apnsUniqueID == nil ? "apns-id" : "apns-unique-id"
            lines.append(style.text("\(name) \(id)", .faint))
        }
        if entry.kind == "accepted", let id = entry.requestID { lines.append(style.text("request \(id)", .faint)) }
        let first = "  \(time)" + String(repeating: " ", count: max(0, Self.margin - 2 - time.count))
        return lines.enumerated().map { ($0 == 0 ? style.text(first, .faint) : blanks) + $1 }
    }

    /// The date, and the time in milliseconds.
    private static func dateAndTime(_ instant: Instant) -> (String, String) {
        let milliseconds = Instant(microseconds: instant.microseconds - instant.microseconds % 1_000)
        let parts = milliseconds.description.dropLast().split(separator: "T")
        guard parts.count == 2 else { return ("", milliseconds.description) }
        let time = String(parts[1])
        return (String(parts[0]), time.contains(".") ? time : time + ".000")
    }

    // MARK: Colours

    private static let good: Set<String> = ["sent", "current"]
    private static let doubtful: Set<String> = [
        "sent_low_priority", "sent_over_budget", "pending", "scheduled", "start_pending", "start_in_flight",
        "start_sent",
        "start_retrying", "start_unknown", "waiting_for_token", "waiting_to_begin", "retrying", "ended", "nobody",
    ]

    private static func meaning(of verdict: Verdict) -> Style.Meaning {
        good.contains(verdict.code) ? .good : doubtful.contains(verdict.code) ? .doubtful : .bad
    }

    private static func meaning(of entry: TimelineEntry) -> Style.Meaning? {
        switch (entry.kind, entry.outcome) {
        case ("push", "accepted"): .good
        case ("push", "retry"), ("push", "unknown"), ("push", "not_sent"), ("lost", _), ("token_wait_overdue", _):
            .doubtful
        case ("push", _), ("refused", _), ("token_died", _), ("schedule_failed", _): .bad
        default: nil
        }
    }
}

extension TimelineAnswer: Presentable {
    var text: String { TimelineText(answer: self, style: .standard, width: Terminal.textWidth).text }
}
