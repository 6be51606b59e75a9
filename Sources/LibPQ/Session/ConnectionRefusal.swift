/// What libpq says of a connection that came to nothing, without the words for programmers, and the SQLSTATE.
///
/// In one line, the message of a server reads `… failed: FATAL: 28P01: password authentication failed … LOCATION: auth_failed,
/// auth.c:326`. FATAL may be in the server's language. If no server answered, there is no SQLSTATE.
struct ConnectionRefusal: Equatable {
    let message: String
    let sqlState: String?

    init(message text: String) {
        let words = text.split(separator: " ")
        let place = words.indices.dropFirst().first { place in
            words[place - 1].hasSuffix(":") && Self.isSQLState(words[place])
        }
        guard let place else {
            message = text
            sqlState = nil
            return
        }
        sqlState = String(words[place].dropLast())
        let end = words[place...].firstIndex(of: "LOCATION:") ?? words.endIndex
        message = (words[..<place] + words[(place + 1)..<end]).joined(separator: " ")
    }

    /// Whether a word is an SQLSTATE with a colon. Those for connections begin with a digit.
    private static func isSQLState(_ word: Substring) -> Bool {
        guard word.utf8.count == 6, word.hasSuffix(":"), word.first?.isNumber == true else { return false }
        return word.dropLast().allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
    }
}
