import APITypes
import ActivityModel
import JSON

/// The card of an activity, as far as its content says what a phone shows.
///
/// Tally does not know the app's layout. Two sides that the names tell, such as `homeScore` and `awayScore`, stand side
/// by side; every other field is shown with its name.
struct CardDrawing {
    let activity: ActivityResource

    var html: HTML {
        let state = activity.contentState.entries.filter { !$0.value.isNull }
        let attributes = activity.attributes.entries.filter { $0.value.string != nil }
        let sides = Self.sides(attributes: attributes, state: state)
        let used = Set(sides.flatMap(\.keys))
        let title = attributes.filter { !used.contains($0.key) && $0.value.string != activity.activityID.rawValue }
            .compactMap(\.value.string).joined(separator: " · ")
        let rest = state.filter { !used.contains($0.key) }
        return """
            <figure class="card" aria-label="The card as its content describes it">
            <figcaption><span>\(title.isEmpty ? activity.type.rawValue : title)</span><span>r\(activity.revision)</span></figcaption>
            \(sides.isEmpty ? "" : Self.board(sides))
            <dl>\(rest.html { "<div><dt>\(Self.words($0.key))</dt><dd>\(Self.value($0.value))</dd></div>" })</dl>
            </figure>
            """
    }

    private struct Pair {
        let left: (name: String, figure: String)
        let right: (name: String, figure: String)
        let note: String?
        let keys: [String]
    }

    private static func board(_ pairs: [Pair]) -> HTML {
        pairs.html { pair in
            """
            <div class="board"><div><b>\(pair.left.figure)</b><span>\(pair.left.name)</span></div>\
            <i>\(pair.note ?? "–")</i><div><b>\(pair.right.figure)</b><span>\(pair.right.name)</span></div></div>
            """
        }
    }

    /// The first pair of numbers whose names differ only in `home` and `away`, with their names from the attributes.
    private static func sides(
        attributes: [(key: String, value: JSONValue)],
        state: [(key: String, value: JSONValue)]
    ) -> [Pair] {
        let numbers = state.filter { $0.value.number != nil }
        let pairs = numbers.compactMap { member -> (suffix: String, left: String, right: String)? in
            guard member.key.hasPrefix("home") else { return nil }
            let suffix = String(member.key.dropFirst(4))
            guard let other = numbers.first(where: { $0.key == "away" + suffix }) else { return nil }
            return (suffix, member.value.text, other.value.text)
        }
        guard let score = pairs.first else { return [] }
        let home = attributes.first { $0.key.hasPrefix("home") }
        let away = attributes.first { $0.key.hasPrefix("away") }
        let further = pairs.dropFirst().first
        let keys =
            pairs.flatMap { ["home" + $0.suffix, "away" + $0.suffix] } + [home?.key, away?.key].compactMap { $0 }
        return [
            Pair(
                left: (home?.value.string ?? "Home", score.left),
                right: (away?.value.string ?? "Away", score.right),
                note: further.map { "\($0.left)–\($0.right)" },
                keys: keys
            )
        ]
    }

    private static func value(_ value: JSONValue) -> HTML {
        if let text = value.string { return HTML(words(text)) }
        return HTML(value.text)
    }

    /// `lastEvent` as `Last event`. A text with spaces stays as it is.
    static func words(_ name: String) -> String {
        guard !name.contains(" "), name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return name }
        var text = ""
        for character in name {
            if character == "_" {
                text += " "
            } else if character.isUppercase, let last = text.last, !last.isUppercase {
                text += " " + character.lowercased()
            } else {
                text.append(character)
            }
        }
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
