import APITypes
import ActivityModel
import JSON

/// Small pieces that several pages use.
enum Parts {
    /// A time as a distance from now, with the exact time as its title.
    static func when(_ time: Instant?, now: Instant) -> HTML {
        guard let time else { return "<span class=\"none\">–</span>" }
        return """
            <time datetime="\(time.description)" title="\(time.description)">\(distance(time, from: now))</time>
            """
    }

    /// A distance in time in its two greatest units.
    static func distance(_ time: Instant, from now: Instant) -> String {
        let seconds = time.unixSeconds - now.unixSeconds
        let text = duration(abs(seconds))
        if abs(seconds) < 1 { return "now" }
        return seconds < 0 ? "\(text) ago" : "in \(text)"
    }

    static func duration(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400:
            seconds / 3600 < 10 && seconds % 3600 >= 60
                ? "\(seconds / 3600) h \(seconds % 3600 / 60) min" : "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// A number with its digits in groups of three.
    static func count(_ number: some BinaryInteger) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "\u{202F}" }
            text.append(digit)
        }
        return number < 0 ? "−" + text : text
    }

    /// What a word means for the person who looks.
    enum Tone: String {
        case good, busy, warn, bad, plain
    }

    static func badge(_ word: String, _ tone: Tone) -> HTML {
        "<span class=\"badge \(tone.rawValue)\">\(word.replacing("_", with: " "))</span>"
    }

    static func badge(_ state: ActivityState) -> HTML {
        switch state {
        case .scheduled: badge(state.rawValue, .busy)
        case .live: badge(state.rawValue, .good)
        case .ended: badge(state.rawValue, .plain)
        }
    }

    static func badge(_ state: SubscriptionState) -> HTML {
        let tone: Tone =
            switch state {
            case .riding: .good
            case .due, .waitingForToken: .busy
            case .withheld: .warn
            case .rejected, .dead: .bad
            case .over: .plain
            }
        return badge(state == .riding ? "current" : state.rawValue, tone)
    }

    /// A table that scrolls sideways on its own where the screen is narrow.
    ///
    /// If it `stacks`, a narrow screen shows each row as a line of its short cells, with its sentence below them.
    static func table(
        _ caption: String,
        _ head: [String],
        _ rows: [HTML],
        empty: HTML,
        stacks: Bool = false
    ) -> HTML {
        guard !rows.isEmpty else { return "<p class=\"empty\">\(empty)</p>" }
        let kind: HTML = stacks ? "wide stacks" : "wide"
        return """
            <div class="\(kind)" tabindex="0" role="region" aria-label="\(caption)"><table><caption class="hidden">\(caption)</caption>
            <thead><tr>\(head.html(heading))</tr></thead><tbody>\(rows)</tbody></table></div>
            """
    }

    /// The name of a column. One of numbers begins with `#` and stands on the right.
    private static func heading(_ name: String) -> HTML {
        name.hasPrefix("#")
            ? "<th scope=\"col\" class=\"num\">\(name.dropFirst())</th>" : "<th scope=\"col\">\(name)</th>"
    }

    /// Names with their values.
    static func facts(_ pairs: [(String, HTML)]) -> HTML {
        "<dl class=\"facts\">\(pairs.html { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" })</dl>"
    }

    static func note(_ tone: Tone, _ content: HTML) -> HTML {
        "<div class=\"note \(tone.rawValue)\" role=\"status\">\(content)</div>"
    }

    static func problem(_ problem: Problem) -> HTML {
        let errors = problem.errors.html { error in
            "<li><code>\(error.pointer.description)</code> \(error.message)</li>"
        }
        return """
            <div class="note bad" role="alert"><p><strong>\(problem.code)</strong> \(problem.detail)</p>\
            \(problem.errors.isEmpty ? "" : "<ul>\(errors)</ul>" as HTML)</div>
            """
    }

    /// The link to the next page of a list.
    static func more(_ address: Address?) -> HTML {
        address.map { "<p class=\"more\"><a href=\"\($0)\">Older</a></p>" } ?? ""
    }

    /// JSON with one member per line.
    static func json(_ value: JSONValue, label: String) -> HTML {
        "<pre class=\"json\" tabindex=\"0\" role=\"region\" aria-label=\"\(label)\">\(pretty(value))</pre>"
    }

    static func pretty(_ value: JSONValue, _ indent: String = "") -> String {
        let inner = indent + "  "
        switch value {
        case .object(let object) where !object.isEmpty:
            let members = object.entries.map { inner + JSONValue.string($0.key).text + ": " + pretty($0.value, inner) }
            return "{\n" + members.joined(separator: ",\n") + "\n" + indent + "}"
        case .array(let items) where items.contains { $0.object != nil || $0.array != nil }:
            return "[\n" + items.map { inner + pretty($0, inner) }.joined(separator: ",\n") + "\n" + indent + "]"
        default:
            return value.text
        }
    }

    /// A button that does something at once.
    static func action(
        _ visit: Visit,
        _ address: Address,
        _ label: String,
        fields: [(String, String)],
        tone: Tone = .plain
    ) -> HTML {
        let hidden = fields.html { "<input type=\"hidden\" name=\"\($0.0)\" value=\"\($0.1)\">" }
        return """
            <form class="action" method="post" action="\(address)">\(visit.formToken.html)\(hidden)\
            <button class="\(tone.rawValue)">\(label)</button></form>
            """
    }
}
