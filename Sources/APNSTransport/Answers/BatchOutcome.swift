/// What became of a batch.
package struct BatchOutcome: Sendable {
    /// One push that was not accepted.
    package struct Exception: Sendable, Hashable {
        /// Its place in the batch's ``TokenBuffer``.
        package let index: Int
        package let outcome: PushOutcome

        /// An exception.
        package init(index: Int, outcome: PushOutcome) {
            self.index = index
            self.outcome = outcome
        }
    }

    /// How many pushes APNs took.
    package let accepted: Int
    /// Every push that was not accepted, in no particular order.
    package let exceptions: [Exception]

    /// An outcome.
    package init(accepted: Int, exceptions: [Exception]) {
        self.accepted = accepted
        self.exceptions = exceptions
    }

    /// The same for all `count` pushes.
    package init(count: Int, allAre outcome: PushOutcome) {
        guard !outcome.isAccepted else {
            self.init(accepted: count, exceptions: [])
            return
        }
        self.init(accepted: 0, exceptions: (0..<count).map { Exception(index: $0, outcome: outcome) })
    }

    /// How many pushes the batch had.
    package var count: Int { accepted + exceptions.count }

    /// How many tokens APNs did not take (`BadDeviceToken`, `DeviceTokenNotForTopic`): many of these mean a wrong key, host
    /// or topic rather than wrong tokens. Dead tokens (410) are not among them.
    package var rejected: Int {
        exceptions.reduce(into: 0) { count, exception in
            count += exception.outcome.class == .tokenRejected ? 1 : 0
        }
    }

    /// How many pushes got an answer of Apple's, whatever it said.
    package var answered: Int {
        exceptions.reduce(into: accepted) { count, exception in
            count += exception.outcome.status == nil ? 0 : 1
        }
    }
}
