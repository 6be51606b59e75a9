import APNSTransport
import Postgres
import TestSupport

@testable import DeliveryStore

/// Promise 9: mass rejections halt sending, and erase nothing.
extension Universe {
    /// Times in milliseconds since 1970.
    private struct Halt {
        let from: Int64
        let to: Int64

        /// Whether it went on at any moment between the two, of which the later may be the earlier by a clock that was
        /// set back.
        func touches(_ one: Int64, _ other: Int64) -> Bool { from <= max(one, other) && min(one, other) <= to }
    }

    func checkHalts() async throws {
        let halts = try await halts()
        if storm == nil, !halts.isEmpty { throw BrokenPromise(9, "sending was halted although Apple rejected nothing") }
        let sent = apple.with { $0.sent }
        for halt in halts {
            let (from, to) = (halt.from - VirtualClock.beginning, halt.to - VirtualClock.beginning)
            note("sending was halted from \(Double(from) / 1_000) to \(Double(to) / 1_000)")
            // What began before the halt may still have sent a slice. Where the clock had one time twice, it may be
            // either.
            let (begins, ends) = (uptimes(of: halt.from), uptimes(of: halt.to))
            let answered = sent.filter {
                $0.turn.uptime > begins.upperBound && $0.uptime > begins.upperBound && $0.uptime < ends.lowerBound
                    && $0.outcome.status != nil
            }
            let probes = (ends.upperBound - begins.lowerBound + steppedForth) / 60_000 + 1
            guard answered.count <= SendingHalt.probeSize * Int(probes) else {
                throw BrokenPromise(
                    9,
                    "\(answered.count) pushes left while sending was halted, in \(probes) probes at most"
                )
            }
        }
        try checkMassRejections(sent, halts)
        try await checkRevival(halts)
    }

    /// When the database's clock had this time, by the clock that nobody sets: the first and the last such moment.
    private func uptimes(of time: Int64) -> ClosedRange<Int64> {
        var moments: [Int64] = []
        var offset = VirtualClock.beginning
        var since: Int64 = 0
        for step in clockSteps + [(apple.with { $0.uptime }, 0)] {
            if since...step.uptime ~= time - offset { moments.append(time - offset) }
            (since, offset) = (step.uptime, offset + step.by)
        }
        guard let first = moments.min(), let last = moments.max() else {
            preconditionFailure("the clock never showed \(time), which is in the database")
        }
        return first...last
    }

    /// By how many milliseconds the clock was set forth in all.
    private var steppedForth: Int64 { clockSteps.reduce(0) { $0 + max($1.by, 0) } }

    /// What one daemon has seen too much of within a minute led to a halt, unless the daemon died over it. The statement that
    /// halts may be a slow one.
    private func checkMassRejections(_ sent: [Apple.Sent], _ halts: [Halt]) throws {
        let deaths = apple.with { $0.deaths }
        let answered = sent.filter { $0.outcome.status != nil && !$0.destination.hasPrefix("channel") }
        for (daemon, answers) in Dictionary(grouping: answered, by: \.daemon) {
            var first = 0
            for last in answers.indices {
                let (answer, next) = (answers[last], answers.dropFirst(last + 1).first)
                // A batch is looked at as a whole.
                if next?.turn == answer.turn, next?.push == answer.push { continue }
                while answers[first].uptime / 1_000 <= answer.uptime / 1_000 - 60 { first += 1 }
                let window = answers[first...last]
                let rejected = window.filter { $0.outcome.class == .tokenRejected }.map(\.destination)
                // One of each phone counts.
                let rejections = Set(rejected.map(Phone.number(ofToken:))).count
                let count = window.count - rejected.count + rejections
                guard count >= 100, rejections * 5 > count else { continue }
                let isHalted = halts.contains { $0.touches(answer.at, answer.at + Hindrance.longestTime) }
                let hasDied = deaths[daemon].map { $0 - answer.uptime <= Hindrance.longestTime } ?? false
                // What was counted before a halt or its end says nothing any more.
                let isForgotten = halts.contains { $0.touches(window[first].at, answer.at) }
                guard isHalted || isForgotten || hasDied else {
                    throw BrokenPromise(9, "\(daemon) saw \(rejections) of \(count) answers reject, and went on")
                }
            }
        }
    }

    /// What was rejected on the way to a halt is tried again after it.
    private func checkRevival(_ halts: [Halt]) async throws {
        for card in try await tables.cards() where card.state == "rejected" {
            guard let rejectedAt = card.rejectedAt else { continue }
            if halts.contains(where: { $0.from - 60_000 <= rejectedAt && rejectedAt < $0.to }) {
                throw BrokenPromise(9, "\(card.token ?? "a card") stayed rejected after the halt that it led to")
            }
        }
    }

    /// The tokens of cards that Tally keeps and does not send to.
    func rejectedTokens() async throws -> Set<String> {
        Set(try await tables.cards().filter { $0.state == "rejected" }.compactMap(\.token))
    }

    private func halts() async throws -> [Halt] {
        let rows = try await clock.database.query(
            """
            SELECT kind, floor(extract(epoch FROM at) * 1000)::bigint FROM events
            WHERE kind IN ('provider_halted', 'provider_resumed') ORDER BY event_id
            """
        )
        var halts: [Halt] = []
        var from: Int64?
        for (kind, at) in try rows.decoded(as: (String, Int64).self) {
            if kind == "provider_halted" {
                from = at
            } else if let begun = from.take() {
                halts.append(Halt(from: begun, to: at))
            }
        }
        return halts
    }
}
