/// What a file descriptor is watched for, and what it turned out to be ready for.
///
/// An error or a hang-up is reported as readiness for whatever was asked for: the next read or write then tells which
/// it was.
package struct Interest: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A read, or an accept, would not block.
    package static let read = Interest(rawValue: 1)
    /// A write would not block, or a connect has finished.
    package static let write = Interest(rawValue: 2)
}
