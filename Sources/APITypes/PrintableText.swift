extension String {
    /// The text for a log or a terminal, where others' words must not act: what moves a cursor, sets a colour, ends a
    /// line or turns the direction of writing is shown as JSON writes it, such as `\u001b`. So JSON stays the same
    /// JSON.
    ///
    /// - `keepingLines`: whether line ends, and the tabulators in lines, stay as they are.
    package func printable(keepingLines: Bool = false) -> String {
        guard unicodeScalars.contains(where: { $0.acts }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if !scalar.acts || keepingLines && (scalar == "\n" || scalar == "\t") {
                text.unicodeScalars.append(scalar)
            } else {
                // All that act have four digits.
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Control characters (C0, DEL, C1), the separators of lines and paragraphs, and the overrides and isolates of
    /// direction (Unicode, UAX #9).
    fileprivate var acts: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
