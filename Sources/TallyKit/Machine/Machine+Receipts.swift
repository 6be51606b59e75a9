extension Machine {
    /// Receipts wait so long for others.
    static let gatheredFor: Double = 5
    /// The most receipts that Tally takes at once.
    static let mostReceipts = 50
    /// The longest age that Tally takes. What is older has none.
    static let longestAge: Double = 24 * 3600
    /// Streams tell within this time what changed while the app slept.
    static let caughtUpAfter: Double = 2

    /// Whether a stream that tells a change tells it at once. In the background iOS may have suspended the app since, and soon
    /// after its return streams tell what came before.
    func isWatching(at now: Moment) -> Bool {
        onScreenSince.map { now - $0 > Self.caughtUpAfter } ?? false
    }

    /// A card shows a revision, and since when if the app saw it change. A late stream may tell an older one.
    mutating func show(_ revision: Int, on id: String, since: Moment?, at now: Moment) {
        guard let card = memory.cards[id], revision > card.shown?.revision ?? 0 else { return }
        // Whoever has left reports nothing more.
        guard card.number > memory.lastCardOfLeaver ?? 0, card.endedByApp != .signedOut else { return }
        // Until Tally has said how many receipts it wants, all are kept.
        guard memory.receiptSampling == nil || isDrawn(id) else { return }
        memory.cards[id]?.shown = Shown(revision: revision, since: since)
        gathering = gathering ?? Pause(Self.gatheredFor, from: now)
    }

    /// The next receipts: what Tally wants and has not taken, of cards that it knows.
    func dueReceipts(at now: Moment) -> [Receipt] {
        guard case .phone(_, memory.session) = memory.confirmedPhone?.news else { return [] }
        let cards = memory.cards.values.filter { $0.shown != nil && $0.shown?.outcome == nil && isDrawn($0.id) }
        let known = cards.filter { memory.card(of: $0.activity)?.id == $0.id && memory.isKnown($0.activity) }
        return known.sorted { $0.number < $1.number }.prefix(Self.mostReceipts).compactMap { card in
            card.shown.map { shown in
                Receipt(
                    card: card.id,
                    activity: card.activity,
                    revision: shown.revision,
                    age: shown.since.flatMap { Self.age(since: $0, at: now) }
                )
            }
        }
    }

    /// In milliseconds. Nil if the clock was set back, or if it is too long for Tally.
    private static func age(since: Moment, at now: Moment) -> Int? {
        (0...longestAge).contains(now - since) ? Int((now - since) * 1000) : nil
    }

    /// What came of receipts. A card that shows another revision by now still has to report that. Receipts that left before
    /// the report of their card are sent again: Tally may have taken them for the card that this one continues.
    mutating func settleReceipts(of flight: Flight, _ outcome: Shown.Outcome) {
        guard case .receipts(let receipts) = flight.report.news else { return }
        for receipt in receipts {
            guard let card = memory.cards[receipt.card], card.shown?.revision == receipt.revision,
                card.reported ?? 0 < flight.report.number
            else { continue }
            memory.cards[receipt.card]?.shown?.outcome = outcome
        }
    }

    /// Whether Tally wants receipts of a card. The lot of a card never changes.
    private func isDrawn(_ card: String) -> Bool {
        memory.receiptSampling.map { Self.lot(of: card, installation: memory.installation) < $0 } ?? false
    }

    /// From 0 up to 1, and the same in every process: FNV-1a, then the last steps of MurmurHash3, which spread it evenly.
    static func lot(of card: String, installation: String) -> Double {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(installation) \(card)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        hash ^= hash >> 33
        return Double(hash >> 11) * 0x1p-53
    }
}
