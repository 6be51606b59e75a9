package import ActivityModel

/// The tokens of a batch: all hex texts in one piece of memory, and where each ends.
///
/// A token here costs its digits and eight bytes, no object of its own.
package struct TokenBuffer: Sendable {
    /// All digits, one token after the other.
    private(set) var text: [UInt8] = []
    /// Where each token ends in `text`.
    private var ends: [Int] = []

    /// The longest token, in bytes; the same bound as ``PushToken``.
    package static let maximumTokenBytes = 256

    /// An empty buffer.
    package init() {}

    /// A buffer of `tokens`.
    package init(_ tokens: some Sequence<PushToken>) {
        for token in tokens {
            append(token)
        }
    }

    /// How many tokens there are.
    package var count: Int { ends.count }

    /// Whether there is none.
    package var isEmpty: Bool { ends.isEmpty }

    /// Makes room for `count` tokens of `bytesPerToken` bytes (twice as many digits).
    package mutating func reserveCapacity(_ count: Int, bytesPerToken: Int = 80) {
        ends.reserveCapacity(ends.count + count)
        text.reserveCapacity(text.count + 2 * count * bytesPerToken)
    }

    /// Adds a token at the end.
    package mutating func append(_ token: PushToken) {
        append(bytes: token.bytes)
    }

    /// Adds a token at the end, from its bytes as the database keeps them.
    ///
    /// Returns false, and adds nothing, if it is empty or longer than ``maximumTokenBytes``.
    @discardableResult
    package mutating func append(bytes: [UInt8]) -> Bool {
        append(bytes: bytes.span)
    }

    /// The same, from memory that belongs to somebody else.
    @discardableResult
    package mutating func append(bytes: Span<UInt8>) -> Bool {
        guard (1...Self.maximumTokenBytes).contains(bytes.count) else {
            return false
        }
        for index in bytes.indices {
            text.append(Self.digits[Int(bytes[index] >> 4)])
            text.append(Self.digits[Int(bytes[index] & 15)])
        }
        ends.append(text.count)
        return true
    }

    /// The tokens at `indices`, in that order.
    func selecting(_ indices: [Int]) -> TokenBuffer {
        var selection = TokenBuffer()
        for index in indices {
            selection.text += self[index]
            selection.ends.append(selection.text.count)
        }
        return selection
    }

    /// The digits of the token at `index`.
    subscript(index: Int) -> ArraySlice<UInt8> {
        text[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

extension TokenBuffer: CustomStringConvertible, CustomReflectable {
    /// Only how many there are: tokens stay out of logs.
    package var description: String { "\(count) tokens" }

    /// Shows nothing, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
