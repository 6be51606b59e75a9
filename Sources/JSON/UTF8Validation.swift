/// Checks bytes against the table of well-formed UTF-8 (Unicode 3.9, table 3-7): no overlong forms, no surrogates, and
/// no code point above U+10FFFF.
struct UTF8Validation {
    /// Continuation bytes that the current sequence still needs.
    private var owed = 0
    /// The allowed range of the next continuation byte. It is narrower than usual only right after some lead bytes.
    private var allowed: ClosedRange<UInt8> = 0x80...0xBF

    /// Takes the next byte; false if it is not allowed here.
    mutating func accept(_ byte: UInt8) -> Bool {
        if owed > 0 {
            guard allowed.contains(byte) else { return false }
            owed -= 1
            allowed = 0x80...0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: break
        case 0xC2...0xDF: owed = 1
        case 0xE0: (owed, allowed) = (2, 0xA0...0xBF)
        case 0xED: (owed, allowed) = (2, 0x80...0x9F)
        case 0xE1...0xEF: owed = 2
        case 0xF0: (owed, allowed) = (3, 0x90...0xBF)
        case 0xF1...0xF3: owed = 3
        case 0xF4: (owed, allowed) = (3, 0x80...0x8F)
        default: return false
        }
        return true
    }
}
