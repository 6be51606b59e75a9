extension String {
    /// Escapes untrusted text for a log or a terminal.
    ///
    /// Characters that move the cursor, set a colour, end a line or change the writing direction are written as JSON
    /// writes them, such as `\u001b`. JSON text stays valid JSON with the same meaning.
    ///
    /// - `keepingLines`: whether line breaks, and tabs within lines, stay as they are.
    package func printable(keepingLines: Bool = false) -> String {
        guard unicodeScalars.contains(where: { $0.acts }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if !scalar.acts || keepingLines && (scalar == "\n" || scalar == "\t") {
                text.unicodeScalars.append(scalar)
            } else {
                // Every escaped character fits in four hex digits.
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal acts on the character: control characters (C0, DEL, C1), line and paragraph separators, and
    /// direction overrides and isolates (Unicode, UAX #9).
    fileprivate var acts: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
