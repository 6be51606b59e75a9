import Glibc

/// A wait, a socket call or the loop itself failed.
package struct ReactorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case system, timedOut, cancelled, shutDown, unresolvable }
        private let kind: Kind

        /// The kernel refused; ``ReactorError/errno`` has the reason.
        package static let system = Code(kind: .system)
        /// The deadline passed first. Nothing remains registered, so the wait may be repeated.
        package static let timedOut = Code(kind: .timedOut)
        /// The waiting task was cancelled. Nothing remains registered.
        package static let cancelled = Code(kind: .cancelled)
        /// The loop was shut down and never runs anything again.
        package static let shutDown = Code(kind: .shutDown)
        /// A host name has no address, or the resolver did not answer. A later retry may succeed.
        package static let unresolvable = Code(kind: .unresolvable)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// The operation, such as `connect`; never contains data.
    package let operation: String
    /// The kernel's error number; 0 unless ``code`` is ``Code/system``.
    package let errno: Int32
    /// Details for people: the resolver's message, or the address.
    package let detail: String?

    /// An error that does not come from the kernel.
    package init(_ code: Code, operation: String, detail: String? = nil) {
        self.code = code
        self.operation = operation
        self.errno = 0
        self.detail = detail
    }

    /// An error from the kernel; `number` is `errno` right after the call.
    package init(operation: String, errno number: Int32, detail: String? = nil) {
        self.code = .system
        self.operation = operation
        self.errno = number
        self.detail = detail
    }

    package var description: String {
        var text = "\(operation): "
        text += code == .system ? Self.words(for: errno) : code.description
        if let detail { text += " (\(detail))" }
        return text
    }

    private static func words(for number: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let base = buffer.baseAddress, unsafe strerror_r(number, base, buffer.count) == 0 else {
                return "errno \(number)"
            }
            return unsafe String(cString: base)
        }
    }
}
