import APITypes
import JSON

/// The cards of a phone as boxes of text, as a person would see them on the Lock Screen.
struct PhoneDrawing {
    /// The columns inside of a box.
    private static let width = 46

    /// The phone as the control API shows it.
    let phone: JSONValue

    var text: String {
        let id = phone["id"]?.string ?? ""
        let words =
            ["iOS \(phone["os_version"]?.string ?? "?")"] + Self.conditions.filter { phone[$0.key] == true }.map(\.word)
        let cards = phone["activities"]?.array ?? []
        let boxes = cards.isEmpty ? ["(no card)"] : cards.map(Self.box)
        let ignored = phone["ignored"]?.int64 ?? 0
        let pushes = "\(phone["received"]?.int64 ?? 0) pushes received" + (ignored > 0 ? ", \(ignored) ignored" : "")
        return ([([id] + words).joined(separator: " · ")] + boxes + [pushes]).joined(separator: "\n").printable(
            keepingLines: true
        )
    }

    private static let conditions = [
        (key: "offline", word: "offline"), (key: "force_quit", word: "app closed by force"),
    ]

    private static func box(_ card: JSONValue) -> String {
        let name = card["activity_id"]?.string ?? card["activitykit_id"]?.string ?? ""
        let title = "\(card["type"]?.string ?? "") · \(name)"
        let content = card["content_state"]?.object?.entries ?? []
        let longest = min(content.map(\.key.count).max() ?? 0, width / 2)
        let fields = content.map { key, value in
            key.padded(to: longest) + "  " + (value.string ?? value.text)
        }
        let lines = [row(title, card["state"]?.string ?? "")] + fields.map { row($0) }
        let edge = String(repeating: "─", count: width + 2)
        return (["╭\(edge)╮"] + lines + ["╰\(edge)╯"]).joined(separator: "\n")
    }

    /// One line with a text at its left and one at its right. A text that is too long is cut.
    private static func row(_ left: String, _ right: String = "") -> String {
        let room = width - (right.isEmpty ? 0 : right.count + 1)
        let plain = left.printable()
        let cut = plain.count > room ? plain.prefix(room - 1) + "…" : plain[...]
        return "│ " + String(cut).padded(to: width - right.count) + right + " │"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
