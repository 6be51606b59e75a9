/// The first dotted numbers of a version (`17.2`, `5.12.0-beta.3`), compared part by part. A missing part counts as zero,
/// so `18` equals `18.0`. The rest of the text does not count.
struct DottedNumbers: Sendable {
    /// The original text.
    let text: String
    /// The numbers without trailing zeros, so that equal versions have equal parts.
    private let parts: [Int]

    /// Any printable text of at most 128 characters; `nil` for anything else. The dotted numbers begin at the first
    /// digit, so `Version 18.1.1 (Build 22B91)` counts as 18.1.1. Text without a digit counts as 0.
    init?(_ text: String) {
        guard Alphabet.isOpaque(text) else { return nil }
        var rest = text.utf8.drop { !Alphabet.isDigit($0) }
        var parts: [Int] = []
        while let digit = rest.first, Alphabet.isDigit(digit) {
            let digits = rest.prefix(while: Alphabet.isDigit)
            rest = rest.dropFirst(digits.count)
            // A number that is too large for an Int is larger than all others.
            parts.append(Int(String(Substring(digits))) ?? .max)
            guard rest.first == UInt8(ascii: ".") else { break }
            rest = rest.dropFirst()
        }
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

/// The iOS version of a device, compared by its first dotted numbers.
package struct OSVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first version that can be started by push (Apple, ActivityKit).
    package static let pushToStart = OSVersion(17, 2)
    /// The first version that knows channels and the `input-push-*` keys (Apple, ActivityKit).
    package static let channels = OSVersion(18)

    private let numbers: DottedNumbers

    /// Reads text such as `17.2` or `18.0.1 (22A3370)`; `nil` if it is not printable or too long.
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

/// The version of an app on a device, compared by its first dotted numbers.
package struct AppVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let numbers: DottedNumbers

    /// Reads text such as `5.12.0`; `nil` if it is not printable or too long.
    package init?(_ text: String) {
        guard let numbers = DottedNumbers(text) else { return nil }
        self.numbers = numbers
    }

    /// The original text.
    package var description: String { numbers.text }

    package static func < (left: AppVersion, right: AppVersion) -> Bool { left.numbers < right.numbers }
}
