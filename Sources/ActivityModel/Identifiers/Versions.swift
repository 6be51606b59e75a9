/// Dotted numbers (`17.2`, `5.12.0`), compared part by part. A missing part counts as zero, so `18` equals `18.0`.
struct DottedNumbers: Sendable {
    /// The original text.
    let text: String
    /// The numbers without trailing zeros, so that equal versions have equal parts.
    private let parts: [Int]

    /// One to eight numbers of at most nine digits; `nil` for anything else.
    init?(_ text: String) {
        var parts: [Int] = []
        for part in text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...9).contains(part.count), part.allSatisfy(Alphabet.isDigit) else { return nil }
            parts.append(part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
        }
        guard parts.count <= 8 else { return nil }
        self.init(text: text, parts: parts)
    }

    init(_ numbers: [Int]) {
        self.init(text: numbers.map(String.init).joined(separator: "."), parts: numbers)
    }

    private init(text: String, parts: [Int]) {
        self.text = text
        self.parts = Array(parts[..<(parts.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)])
    }
}

extension DottedNumbers: Hashable, Comparable {
    static func == (left: DottedNumbers, right: DottedNumbers) -> Bool { left.parts == right.parts }

    static func < (left: DottedNumbers, right: DottedNumbers) -> Bool {
        left.parts.lexicographicallyPrecedes(right.parts)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// The iOS version of a device, as dotted numbers.
package struct OSVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first version that can be started by push (Apple, ActivityKit).
    package static let pushToStart = OSVersion(17, 2)
    /// The first version that knows channels and the `input-push-*` keys (Apple, ActivityKit).
    package static let channels = OSVersion(18)

    private let numbers: DottedNumbers

    /// Reads text such as `17.2` or `18.0.1`; `nil` for anything else.
    package init?(_ text: String) {
        guard let numbers = DottedNumbers(text) else { return nil }
        self.numbers = numbers
    }

    /// A version by its numbers.
    package init(_ numbers: Int...) { self.numbers = DottedNumbers(numbers) }

    /// The original text.
    package var description: String { numbers.text }

    package static func < (left: OSVersion, right: OSVersion) -> Bool { left.numbers < right.numbers }
}

/// The version of an app on a device, as dotted numbers.
package struct AppVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let numbers: DottedNumbers

    /// Reads text such as `5.12.0`; `nil` for anything else.
    package init?(_ text: String) {
        guard let numbers = DottedNumbers(text) else { return nil }
        self.numbers = numbers
    }

    /// The original text.
    package var description: String { numbers.text }

    package static func < (left: AppVersion, right: AppVersion) -> Bool { left.numbers < right.numbers }
}
