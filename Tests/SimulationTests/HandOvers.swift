import ActivityModel
import Postgres
import TestSupport

@testable import APNSTransport

/// Lives in which hours pass, and new cards continue old ones (policy `continue_after_hours`).
extension Universe {
    /// The smallest value that a policy may have.
    static let continueAfterHours = 1
    /// So long after a report of it no card is handed over, in milliseconds.
    private static let rest: Int64 = 2_700_000
    /// Both cards are on the screen for so long at most, if nothing fails.
    private static let longestOverlap: Int64 = 5_000
    /// A report is answered so many milliseconds after it was stored, at the latest.
    private static let longestReport: Int64 = 60_000
    /// Phones here do not end a card after its eight hours. No life gets so old.
    private static let (lastHours, lastHandOver): (Int64, Int64) = (12_000_000, 24_000_000)

    /// So much time passes that cards get old enough.
    func passHours() async throws {
        guard apple.with({ $0.uptime }) < Self.lastHours else { return }
        try await pass(milliseconds: .random(in: 2_000_000...4_500_000, using: &random))
    }

    /// Whether a card was ended because a new card continues it.
    func isHandedOver(_ card: Card) -> Bool { hasContinuations && card.isContinued }

    /// Takes note that Tally was told that a card is gone, if its phone shows no other of the match.
    ///
    /// What the app said of the match before does not come once more: generations do not order reports of two cards if one of
    /// them is over.
    func noteGone(_ card: Int, on phone: Int) {
        guard hasContinuations else { return }
        let (id, cards, uptime) = apple.with { state in
            state.phones[phone].cards[card].isGoneKnown = true
            return (state.phones[phone].id, state.phones[phone].cards, state.uptime)
        }
        let activity = cards[card].activity
        oldReports.removeAll { $0.device == id && $0.activity == activity }
        guard !cards[card].isEnded,
            cards.allSatisfy({ $0.activity != activity || $0.isEnded || $0.isGoneKnown })
        else { return }
        goodbyes["\(activity) \(id)"] = uptime
    }

    // MARK: Without faults

    /// All cards get old enough and are handed over, while nothing fails.
    func continueCalmly() async throws {
        guard hasContinuations, apple.with({ $0.uptime }) < Self.lastHandOver else { return }
        note("all cards get old")
        // Tally knows all start tokens.
        for phone in 0..<apple.with({ $0.phones.count }) { try await launchApp(of: phone) }
        try await goOnCalmly()
        try await recordScheduled()
        let singles = try await singles()
        let began = apple.with { $0.uptime }
        try await pass(milliseconds: Int64(Self.continueAfterHours) * 3_600_000 + 100_000)
        for _ in 0..<20 {
            try await goOnCalmly()
            try await pass(milliseconds: 1_000)
        }
        try await goOnCalmly()
        for single in singles { try checkHandOver(single, since: began) }
    }

    /// A phone that shows one card of a match, which Tally knows by its token.
    private struct Single {
        let phone: Int
        let match: Match
    }

    private func singles() async throws -> [Single] {
        let rejected = try await rejectedTokens()
        var singles: [Single] = []
        for (place, phone) in apple.with({ $0.phones }).enumerated() {
            for match in matches where !match.hasEnded {
                guard let newest = phone.newestCard(of: match.id) else { continue }
                let card = phone.cards[newest]
                guard phone.cards.count(where: { $0.activity == match.id && $0.isShown }) == 1, card.isShown,
                    card.isKnown, !card.hasLeft, !card.isPending, let token = card.updateToken,
                    !rejected.contains(token)
                else { continue }
                singles.append(Single(phone: place, match: match))
            }
        }
        return singles
    }

    /// Promise 2: the phone shows one card of the match with the newest state, as before, and both cards only for a moment.
    private func checkHandOver(_ single: Single, since began: Int64) throws {
        let phone = apple.with { $0.phones[single.phone] }
        let cards = phone.cards.filter { $0.activity == single.match.id }
        let shown = cards.filter(\.isShown)
        guard shown.count == 1, shown.first?.score == single.match.newest?.score else {
            let seen = shown.map { "card \($0.number) with score \($0.score)" }.joined(separator: " and ")
            let newest = single.match.newest?.score ?? 0
            throw BrokenPromise(2, "\(phone.id) shows \(seen) of \(single.match.id), and not \(newest) on one card")
        }
        for new in cards where new.shownAt >= began {
            handOvers += 1
            for old in cards where old.number < new.number && !old.isGone && old.endedAt ?? .max > new.shownAt {
                guard let ended = old.endedAt, ended - new.shownAt <= Self.longestOverlap else {
                    throw BrokenPromise(
                        2,
                        "\(phone.id) showed cards \(old.number) and \(new.number) of \(single.match.id) for long"
                    )
                }
            }
        }
    }

    // MARK: Promises

    /// Promise 6: no start follows soon on the first report of the newest card that the phone has reported. The end of a
    /// duplicate is no news of the card that Tally knows. `sent`: starts.
    func checkEarliness(of sent: [Apple.Sent], of match: String, on phone: Phone) throws {
        let cards = phone.cards.filter { $0.activity == match && !$0.isGone }
        let steppedForth = clockSteps.reduce(0) { $0 + max($1.by, 0) }
        for start in starts(of: match, on: phone, among: sent) {
            let reported = cards.filter { $0.reportedAt ?? .max < start.turn.uptime }
            guard let reportedAt = reported.max(by: { $0.number < $1.number })?.reportedAt else { continue }
            guard start.uptime >= reportedAt + Self.rest - steppedForth - Self.longestReport else {
                throw BrokenPromise(6, "\(phone.id) was started soon after it had reported its card of \(match)")
            }
        }
    }

    /// Promise 6: whoever has swiped the last card of a match away, and whose app has said so, gets no other.
    func checkGoodbyes() throws {
        let (phones, sent) = apple.with { ($0.phones, $0.sent) }
        for phone in phones {
            for match in matches {
                guard let goodbye = goodbyes["\(match.id) \(phone.id)"] else { continue }
                let starts = starts(of: match.id, on: phone, among: sent)
                guard let first = starts.first(where: { $0.turn.uptime > goodbye }) else { continue }
                // A start that left before it may have come late, and its card may have been handed over since.
                let hasCome = phone.cards.contains {
                    $0.activity == match.id && (goodbye...first.turn.uptime).contains($0.shownAt)
                }
                guard hasCome else {
                    throw BrokenPromise(6, "\(phone.id) was started for \(match.id), whose card was reported as gone")
                }
            }
        }
    }

    /// Promise 2: the old card is ended when Tally knows that there is a new one, whatever has failed on the way.
    func checkOldCards() throws {
        guard hasContinuations else { return }
        let (phones, sent) = apple.with { ($0.phones, $0.sent) }
        for phone in phones {
            for new in phone.cards where new.reportedAt != nil && new.start != nil {
                let pushes = starts(of: new.activity, on: phone, among: sent).filter { $0.push == new.start }
                guard let began = pushes.map(\.turn.uptime).min() else { continue }
                // The one that Tally had when it started the new one: another one before it was a duplicate.
                let before = phone.cards.filter {
                    $0.activity == new.activity && $0.number < new.number && $0.reportedAt ?? .max < began
                }
                guard let old = before.max(by: { $0.number < $1.number }), old.isKnown, old.updateToken != nil,
                    !old.isGone, !old.hasLeft, !old.isPending
                else { continue }
                guard old.isEnded else {
                    throw BrokenPromise(
                        2,
                        "\(phone.id) still shows card \(old.number) of \(new.activity), which card \(new.number) continues"
                    )
                }
            }
        }
    }

    /// Promise 6: the start budget of a phone holds over all its activities and cards.
    func checkStartBudget() throws {
        // A clock that is set forth ends the window early.
        guard hasContinuations, !clockSteps.contains(where: { $0.by > 0 }) else { return }
        let (phones, sent) = apple.with { ($0.phones, $0.sent) }
        for phone in phones {
            let starts = sent.filter {
                $0.push.event == "start" && phone.startTokens.contains($0.destination)
                    && ($0.outcome.isAccepted || $0.outcome.class == .unknown)
            }
            for (place, last) in starts.enumerated().dropFirst(startBudget) {
                // Each was claimed in its turn, before it left.
                let began = starts[place - startBudget...place].map(\.turn.uptime).min() ?? 0
                guard last.uptime - began >= 60_000 else {
                    throw BrokenPromise(6, "\(phone.id) was started more than \(startBudget) times within a minute")
                }
            }
        }
    }

    private func starts(of match: String, on phone: Phone, among sent: [Apple.Sent]) -> [Apple.Sent] {
        sent.filter {
            $0.push.event == "start" && $0.push.content?.match == match && phone.startTokens.contains($0.destination)
        }
    }
}
