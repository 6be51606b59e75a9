/// The events that a file descriptor is watched for, or is ready for.
///
/// An error or a hang-up counts as readiness for the whole interest. The next read or write then returns the error.
package struct Interest: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A read or accept would not block.
    package static let read = Interest(rawValue: 1)
    /// A write would not block, or a connect has finished.
    package static let write = Interest(rawValue: 2)
}
