/// A piece of HTML that is safe to send.
///
/// Only literals in the source code are markup. Every interpolated text is escaped, so text from users and phones
/// cannot become markup. `StaticString` guarantees at compile time that a literal is a literal.
struct HTML: Sendable, ExpressibleByStringInterpolation {
    private(set) var text: String

    init(stringLiteral literal: StaticString) { text = literal.description }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    /// Plain text, escaped.
    init(_ plain: some StringProtocol) {
        text = ""
        text.appendEscaped(plain)
    }

    init(joining parts: [HTML]) { text = parts.map(\.text).joined() }

    /// Collects the literals and the escaped values of one interpolation.
    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        mutating func appendInterpolation(_ html: HTML) { text += html.text }
        mutating func appendInterpolation(_ html: HTML?) { text += html?.text ?? "" }
        mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { text += part.text } }
        mutating func appendInterpolation(_ plain: some StringProtocol) { text.appendEscaped(plain) }
        mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }
        /// An address in an attribute. ``Address`` encodes its parts; the result is escaped as any other text.
        mutating func appendInterpolation(_ address: Address) { text.appendEscaped(address.text) }
    }
}

extension String {
    /// Appends text with every character replaced that means something in HTML text or in a quoted attribute.
    fileprivate mutating func appendEscaped(_ plain: some StringProtocol) {
        for scalar in plain.unicodeScalars {
            switch scalar {
            case "&": self += "&amp;"
            case "<": self += "&lt;"
            case ">": self += "&gt;"
            case "\"": self += "&quot;"
            case "'": self += "&#39;"
            // No HTML text may contain it.
            case "\0": self += "\u{FFFD}"
            default: unicodeScalars.append(scalar)
            }
        }
    }
}

extension Collection {
    /// The HTML of each element, in order.
    func html(_ render: (Element) throws -> HTML) rethrows -> HTML { HTML(joining: try map(render)) }
}
