package import ActivityModel

/// The tokens of a batch: all hex texts in one buffer, and the end of each.
///
/// A token costs its digits and eight bytes here, without an object of its own.
package struct TokenBuffer: Sendable {
    /// All digits, one token after the other.
    private(set) var text: [UInt8] = []
    /// The end of each token in `text`.
    private var ends: [Int] = []

    /// The maximum length of a token, in bytes; the same as for ``PushToken``.
    package static let maximumTokenBytes = 256

    /// An empty buffer.
    package init() {}

    /// Creates a buffer of `tokens`.
    package init(_ tokens: some Sequence<PushToken>) {
        for token in tokens {
            append(token)
        }
    }

    /// The number of tokens.
    package var count: Int { ends.count }

    /// Whether the buffer is empty.
    package var isEmpty: Bool { ends.isEmpty }

    /// Reserves memory for `count` tokens of `bytesPerToken` bytes (twice as many digits).
    package mutating func reserveCapacity(_ count: Int, bytesPerToken: Int = 80) {
        ends.reserveCapacity(ends.count + count)
        text.reserveCapacity(text.count + 2 * count * bytesPerToken)
    }

    /// Adds a token at the end.
    package mutating func append(_ token: PushToken) {
        append(bytes: token.bytes)
    }

    /// Adds a token at the end, from its bytes in the database.
    ///
    /// Returns false, and adds nothing, if it is empty or longer than ``maximumTokenBytes``.
    @discardableResult
    package mutating func append(bytes: [UInt8]) -> Bool {
        append(bytes: bytes.span)
    }

    /// The same, from borrowed memory.
    @discardableResult
    package mutating func append(bytes: Span<UInt8>) -> Bool {
        guard (1...Self.maximumTokenBytes).contains(bytes.count) else {
            return false
        }
        // Uses a stack buffer: appending digit by digit would cost as much as encrypting them later.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * bytes.count) { digits in
            for index in bytes.indices {
                digits[2 * index] = Self.digit(bytes[index] >> 4)
                digits[2 * index + 1] = Self.digit(bytes[index] & 15)
            }
            text.append(contentsOf: digits)
        }
        ends.append(text.count)
        return true
    }

    /// The tokens at `indices`, in that order.
    package func selecting(_ indices: [Int]) -> TokenBuffer {
        var selection = TokenBuffer()
        for index in indices {
            selection.text += self[index]
            selection.ends.append(selection.text.count)
        }
        return selection
    }

    /// The digits of the token at `index`.
    package subscript(index: Int) -> ArraySlice<UInt8> {
        text[range(index)]
    }

    /// Where the digits of the token at `index` are in ``text``.
    func range(_ index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// Without a table, so that the compiler can vectorize it.
    private static func digit(_ value: UInt8) -> UInt8 {
        value &+ (value > 9 ? UInt8(ascii: "a") &- 10 : UInt8(ascii: "0"))
    }
}

extension TokenBuffer: CustomStringConvertible, CustomReflectable {
    /// Shows only the number, because tokens must not be logged.
    package var description: String { "\(count) tokens" }

    /// Shows only the number, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
