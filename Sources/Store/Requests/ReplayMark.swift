import Synchronization

/// Says whether the answer to a request is that of an earlier one: nothing was done this time.
///
/// It goes with the ``Caller``, because the answers themselves are equal.
package final class ReplayMark: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .relaxed) }

    package func set() { flag.store(true, ordering: .relaxed) }
}
