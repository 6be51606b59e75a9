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

        /// Whether APNs did not take the token. A 410 with an unknown reason, or none, is judged as that, and yet says
        /// nothing of key or host.
        package var isRejection: Bool { outcome.class == .tokenRejected && outcome.status != 410 }
    }

    /// What Apple's answer to a push said beside its outcome.
    package struct Receipt: Sendable, Hashable {
        /// Its place in the batch's ``TokenBuffer``.
        package let index: Int
        /// `apns-id`.
        package let apnsID: String?
        /// `apns-unique-id`, by which the delivery log of Apple's Push Notifications Console finds the push.
        package let uniqueID: String?
        /// From the push's leaving to its answer; nil where that was not measured.
        package let latency: Duration?

        /// A receipt.
        package init(index: Int, apnsID: String?, uniqueID: String?, latency: Duration? = nil) {
            self.index = index
            self.apnsID = apnsID
            self.uniqueID = uniqueID
            self.latency = latency
        }
    }

    /// How many pushes APNs took.
    package let accepted: Int
    /// Every push that was not accepted, in no particular order.
    package let exceptions: [Exception]
    /// In no particular order: of every answered push, if the batch wants receipts; else of the accepted ones that were
    /// alone in their batch, or that Apple gave a name for its delivery log, which is in the sandbox only.
    package let receipts: [Receipt]

    /// An outcome.
    package init(accepted: Int, exceptions: [Exception], receipts: [Receipt] = []) {
        self.accepted = accepted
        self.exceptions = exceptions
        self.receipts = receipts
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

    /// How many tokens APNs did not take (`BadDeviceToken`, `DeviceTokenNotForTopic`): many of these mean a wrong key,
    /// host or topic rather than wrong tokens. Dead tokens (410) are not among them.
    package var rejected: Int { exceptions.count(where: \.isRejection) }

    /// How many pushes got an answer of Apple's, whatever it said.
    package var answered: Int {
        exceptions.reduce(into: accepted) { count, exception in
            count += exception.outcome.status == nil ? 0 : 1
        }
    }

    /// The same with other outcomes for some of its exceptions: `outcome` is that of a batch of those at `indices`.
    func replacing(_ indices: [Int], by outcome: BatchOutcome) -> BatchOutcome {
        let replaced = Set(indices)
        return BatchOutcome(
            accepted: accepted + outcome.accepted,
            exceptions: exceptions.filter { !replaced.contains($0.index) }
                + outcome.exceptions.map { Exception(index: indices[$0.index], outcome: $0.outcome) },
            receipts: receipts.filter { !replaced.contains($0.index) }
                + outcome.receipts.map {
                    Receipt(
                        index: indices[$0.index],
                        apnsID: $0.apnsID,
                        uniqueID: $0.uniqueID,
                        latency: $0.latency
                    )
                }
        )
    }
}
