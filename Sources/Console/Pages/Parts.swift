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

    /// What stands in the place of a form that would change an activity which has ended.
    static func ended(_ activity: ActivityResource, now: Instant) -> HTML {
        let time = when(activity.endedAt, now: now)
        return note(.warn, "The activity has ended \(time). An end is final, so nothing can be changed.")
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
    static func more(_ address: Address?, _ label: HTML = "Older") -> HTML {
        address.map { "<p class=\"more\"><a href=\"\($0)\">\(label)</a></p>" } ?? ""
    }

    /// JSON with one member per line.
    static func json(_ value: JSONValue, label: String) -> HTML {
        "<pre class=\"json\" tabindex=\"0\" role=\"region\" aria-label=\"\(label)\">\(pretty(value))</pre>"
    }

    /// JSON on one line, as code; a dash for what is not there.
    static func code(_ value: JSONValue?) -> HTML { "<code>\(value.map { visible($0.text) } ?? "–")</code>" }

    static func pretty(_ value: JSONValue, _ indent: String = "") -> String {
        let inner = indent + "  "
        switch value {
        case .object(let object) where !object.isEmpty:
            let members = object.entries.map { key, value in
                inner + visible(JSONValue.string(key).text) + ": " + pretty(value, inner)
            }
            return "{\n" + members.joined(separator: ",\n") + "\n" + indent + "}"
        case .array(let items) where items.contains { $0.object != nil || $0.array != nil }:
            return "[\n" + items.map { inner + pretty($0, inner) }.joined(separator: ",\n") + "\n" + indent + "]"
        default:
            return visible(value.text)
        }
    }

    /// The same JSON with escapes for the characters that turn the direction of a line: they would turn what follows.
    private static func visible(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: turnsLine) else { return json }
        var text = ""
        for scalar in json.unicodeScalars {
            if turnsLine(scalar) {
                text += "\\u" + String(scalar.value, radix: 16)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Embeddings, overrides and isolates of Unicode's bidirectional algorithm.
    private static func turnsLine(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    /// A question before something that one click would do, with the button that does it.
    static func question(_ title: HTML, _ text: HTML, _ button: HTML) -> HTML {
        "<section class=\"plan\" aria-label=\"Confirm\"><h2>\(title)</h2><p>\(text)</p>\(button)</section>"
    }

    /// A button that sends a form without fields to fill in.
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
