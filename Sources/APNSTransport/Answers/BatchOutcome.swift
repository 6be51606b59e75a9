/// The result of a batch: how many pushes were accepted, and the outcome of each other push.
package struct BatchOutcome: Sendable {
    /// One push that was not accepted.
    package struct Exception: Sendable, Hashable {
        /// Its index in the batch's ``TokenBuffer``.
        package let index: Int
        package let outcome: PushOutcome

        /// Creates an exception.
        package init(index: Int, outcome: PushOutcome) {
            self.index = index
            self.outcome = outcome
        }

        /// Whether APNs rejected the token. A 410 does not count, because it does not suggest a wrong key or host.
        package var isRejection: Bool { outcome.class == .tokenRejected && outcome.status != 410 }
    }

    /// Details of Apple's answer to a push in addition to its outcome.
    package struct Receipt: Sendable, Hashable {
        /// Its index in the batch's ``TokenBuffer``.
        package let index: Int
        /// `apns-id`.
        package let apnsID: String?
        /// `apns-unique-id`, the id of the push in the delivery log of Apple's Push Notifications Console.
        package let uniqueID: String?
        /// The time from sending the push to its answer; `nil` if it was not measured.
        package let latency: Duration?

        /// Creates a receipt.
        package init(index: Int, apnsID: String?, uniqueID: String?, latency: Duration? = nil) {
            self.index = index
            self.apnsID = apnsID
            self.uniqueID = uniqueID
            self.latency = latency
        }
    }

    /// The number of pushes that APNs accepted.
    package let accepted: Int
    /// Every push that was not accepted, in no particular order.
    package let exceptions: [Exception]
    /// The receipts, in no particular order. If the batch wants receipts, every answered push has one. Otherwise
    /// accepted pushes have one if they are alone in their batch or have an `apns-unique-id`, which only the sandbox
    /// sends.
    package let receipts: [Receipt]

    /// Creates an outcome.
    package init(accepted: Int, exceptions: [Exception], receipts: [Receipt] = []) {
        self.accepted = accepted
        self.exceptions = exceptions
        self.receipts = receipts
    }

    /// The same outcome for all `count` pushes.
    package init(count: Int, allAre outcome: PushOutcome) {
        guard !outcome.isAccepted else {
            self.init(accepted: count, exceptions: [])
            return
        }
        self.init(accepted: 0, exceptions: (0..<count).map { Exception(index: $0, outcome: outcome) })
    }

    /// The outcome of a batch of one. `latency` is the time from sending the push to its answer.
    package init(single outcome: PushOutcome, latency: Duration) {
        accepted = outcome.isAccepted ? 1 : 0
        exceptions = outcome.isAccepted ? [] : [Exception(index: 0, outcome: outcome)]
        receipts = [
            Receipt(
                index: 0,
                apnsID: outcome.apnsID,
                uniqueID: outcome.uniqueID,
                latency: outcome.status == nil ? nil : latency
            )
        ]
    }

    /// What became of the only push of a batch.
    package var single: PushOutcome { exceptions.first?.outcome ?? PushOutcome(.accepted, status: 200) }

    /// The number of pushes in the batch.
    package var count: Int { accepted + exceptions.count }

    /// The number of tokens that APNs rejected (`BadDeviceToken`, `DeviceTokenNotForTopic`). Many of them suggest a
    /// wrong key, host or topic instead of wrong tokens. Dead tokens (410) are not included.
    package var rejected: Int { exceptions.count(where: \.isRejection) }

    /// The number of pushes that Apple has answered, whatever the answer.
    package var answered: Int {
        exceptions.reduce(into: accepted) { count, exception in
            count += exception.outcome.status == nil ? 0 : 1
        }
    }

    /// Replaces some exceptions. `outcome` is that of another batch with the pushes at `indices`.
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
