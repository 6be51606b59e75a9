/// Keeps sources away from the parser that would cost it more than their length.
///
/// It tries every `[` as the beginning of several things, and the ones inside again for each: the time grows by about 1.6 with
/// every bracket that is still open. Measured: 12 open brackets cost 45 ms in a debug build, 30 would cost minutes.
enum BracketBudget {
    private static let growth = 1.6
    /// About two seconds of a debug build; a bracket of ordinary code costs 2 or 3.
    private static let limit = 40_000.0

    /// Whether a text keeps within the limit. Brackets in comments and texts count like others, since what is one is for the
    /// parser to say.
    static func isKept(by text: String) -> Bool {
        var costs = [1.0]
        var total = 0.0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "[") {
                let cost = costs[costs.count - 1] * growth
                costs.append(cost)
                total += cost
                if total > limit { return false }
            } else if byte == UInt8(ascii: "]"), costs.count > 1 {
                costs.removeLast()
            }
        }
        return true
    }
}
