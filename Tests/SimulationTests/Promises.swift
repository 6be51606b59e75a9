import ActivityModel
import Postgres
import Store
import TestSupport

/// A promise of the design that a run has broken.
struct BrokenPromise: Error, CustomStringConvertible {
    let number: Int
    let what: String

    init(_ number: Int, _ what: String) {
        self.number = number
        self.what = what
    }

    var description: String { "promise \(number) is broken: \(what)" }
}

/// What must hold at the end of every run.
extension Universe {
    func check() async throws {
        try await recordScheduled()
        try await checkAccepted()
        try await checkConvergence()
        try checkFans()
        try await checkUnreported()
        try await checkLeft()
        try checkPace()
        try checkVersions()
        try await checkAlerts()
        try checkTime()
        try await checkStarts()
        try checkAbsences()
        try checkGoodbyes()
        try checkOldCards()
        try checkStartBudget()
        try await checkFollowers()
        try await checkTokens()
        try await checkHalts()
        try await checkBudget()
        try await checkChannels()
        try await checkPool()
        try await checkChannelsAtApple()
        try await checkRings()
        try await checkMerges()
        try await checkUnfollow()
        try await checkRetention()
        try await checkTakeover()
    }

    /// Promise 2: a worker that finds nothing to send rests, until time has passed or there is something. So it does
    /// where sending is halted (promise 9). To be looked at on the way: else the life would never end.
    func checkTurnsEnd() async throws {
        guard stage.hasEndlessTurn else { return }
        throw try await isHalted()
            ? BrokenPromise(9, "a worker goes on without end while sending is halted")
            : BrokenPromise(2, "a worker goes on without end")
    }

    /// What was scheduled has happened, or has failed for a reason, or is to come.
    func recordScheduled() async throws {
        for index in matches.indices {
            let rows = try await clock.database.query(
                """
                SELECT (c.content_state->>'score')::bigint, c.revision, c.kind::text
                FROM changes AS c JOIN activities AS a USING (activity_key) WHERE a.activity_id = \(matches[index].id)
                """
            )
            for (score, revision, kind) in try rows.decoded(as: (Int64, Int64, String).self) {
                guard let post = matches[index].scheduled.first(where: { $0.score == score }),
                    !matches[index].accepted.contains(where: { $0.revision == revision })
                else { continue }
                matches[index].accepted.append(
                    Accepted(
                        revision: revision,
                        score: score,
                        kind: try .stored(kind),
                        alert: post.alert,
                        mustDeliver: post.mustDeliver,
                        hasMinute: post.hasMinute
                    )
                )
            }
            let happened = Set(matches[index].accepted.map(\.score))
            for post in matches[index].scheduled where !happened.contains(post.score) {
                let isRefused = try await isRefused(post, of: matches[index])
                guard (post.at ?? 0) + 11_000 > now || matches[index].hasEnded || isRefused else {
                    throw BrokenPromise(1, "\(matches[index].id) score \(post.score) was scheduled and never happened")
                }
            }
        }
    }

    /// Whether a scheduled state was refused when it was due: an app that does not decode it follows by then.
    private func isRefused(_ post: Post, of match: Match) async throws -> Bool {
        guard hasTwoVersions, !post.hasMinute else { return false }
        let rows = try await clock.database.query(
            """
            SELECT s.reason FROM schedules AS s JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(match.id) AND s.state = 'failed'
              AND (s.body->'content_state'->>'score')::bigint = \(post.score)
            """
        )
        return try rows.first(as: String.self) == "invalid_content_state"
    }

    /// Promise 1: what was accepted is there, each under the revision that the backend was told.
    private func checkAccepted() async throws {
        for match in matches {
            for accepted in match.accepted {
                let rows = try await clock.database.query(
                    """
                    SELECT c.content_state->>'score' FROM changes AS c JOIN activities AS a USING (activity_key)
                    WHERE a.activity_id = \(match.id) AND c.revision = \(accepted.revision)
                    """
                )
                guard try rows.first(as: String.self) == String(accepted.score) else {
                    throw BrokenPromise(
                        1,
                        "\(match.id) revision \(accepted.revision) with score \(accepted.score) is lost"
                    )
                }
            }
            let revisions = match.accepted.map(\.revision)
            guard Set(revisions).count == revisions.count else {
                throw BrokenPromise(1, "two changes of \(match.id) have one revision: \(revisions)")
            }
        }
    }

    /// Promise 2: every card that Tally knows shows the newest state, or the end. One that has not begun shows it when it
    /// has, and the end at once.
    private func checkConvergence() async throws {
        let (phones, channels) = apple.with { ($0.phones, $0.channels) }
        let rejected = try await rejectedTokens()
        for phone in phones {
            for match in matches {
                guard let index = phone.newestCard(of: match.id), let newest = match.newest else { continue }
                let card = phone.cards[index]
                // What listens to a channel that Apple has lost is out of reach until its app asks for another.
                guard card.isKnown, !card.isGone, !isHandedOver(card),
                    card.channel.map({ channels[$0] == true }) ?? true
                else { continue }
                // A token that Apple has rejected waits for a report or an operator (promise 9).
                guard card.updateToken.map({ !rejected.contains($0) }) ?? true else { continue }
                let isShown =
                    card.score == newest.score || !decodes(phone, newest.hasMinute)
                    || (card.isPending && !match.hasEnded)
                guard isShown else {
                    throw BrokenPromise(
                        2,
                        "\(phone.id) shows score \(card.score) of \(match.id) and not \(newest.score) (revision \(newest.revision))"
                    )
                }
                guard card.isEnded == match.hasEnded else {
                    throw BrokenPromise(5, "\(phone.id) still shows \(match.id), which has ended")
                }
            }
        }
    }

    /// Promise 2: a card on a channel shows the newest state, or the end, also where its app never reports it.
    private func checkUnreported() async throws {
        guard hasSilentPhones else { return }
        var known = -1
        // What was scheduled may come meanwhile.
        while known != matches.flatMap(\.accepted).count {
            known = matches.flatMap(\.accepted).count
            try await waitForLateStarts()
            try await recordScheduled()
        }
        let (phones, lost) = apple.with { ($0.phones, $0.lostChannels) }
        for phone in phones where !phone.reportsChannels {
            for match in matches {
                guard let index = phone.newestCard(of: match.id), let newest = match.newest else { continue }
                let card = phone.cards[index]
                guard let channel = card.channel, !lost.contains(channel), !card.isGone, !card.hasLeft else { continue }
                guard card.score == newest.score || !decodes(phone, newest.hasMinute) else {
                    throw BrokenPromise(
                        2,
                        "\(phone.id) reports nothing, and shows score \(card.score) of \(match.id) and not \(newest.score)"
                    )
                }
                guard card.isEnded == match.hasEnded else {
                    throw BrokenPromise(5, "\(phone.id) reports nothing, and still shows \(match.id), which has ended")
                }
            }
        }
    }

    /// Promises 3 and 5: at one destination a newer state always has the greater timestamp, and the same stamp the same
    /// bytes; nothing that is newer than an end leaves.
    private func checkTime() throws {
        // An old card takes nothing after the end that it was sent because a new one continues it.
        let sent = apple.with { $0.sent }
            .filter { !hasContinuations || $0.push.event != "end" || $0.push.content != nil }
        // A post whose first answer got lost is younger than its number says.
        let revisions = Dictionary(
            matches.flatMap(\.accepted).map { ($0.score, $0.revision) },
            uniquingKeysWith: min
        )
        for (destination, pushes) in Dictionary(grouping: sent.filter { $0.push.event != "start" }, by: \.destination) {
            let ordered = pushes.map { sent in
                // An end that brings no state is newer than every state.
                (sent.push, sent.push.content.map { revisions[$0.score] ?? 0 } ?? Revision.max)
            }.sorted { ($0.1, $0.0.timestamp) < ($1.1, $1.0.timestamp) }.map(\.0)
            for (older, newer) in zip(ordered, ordered.dropFirst())
            where older.content != newer.content && (older.event, newer.event) != ("end", "end") {
                guard older.timestamp < newer.timestamp else {
                    throw BrokenPromise(3, "\(destination) got both, and not in order: \(older) and \(newer)")
                }
            }
            for (timestamp, alike) in Dictionary(grouping: pushes, by: \.push.timestamp) {
                // An end goes again without its state to a phone whose app has become another meanwhile.
                guard
                    Set(alike.map(\.push)).count == 1 || alike.allSatisfy({ $0.push.event == "end" }) && hasTwoVersions
                else {
                    throw BrokenPromise(3, "\(destination) got different bytes under the timestamp \(timestamp)")
                }
            }
            if let end = pushes.filter({ $0.push.event == "end" }).map(\.push.timestamp).min(),
                let late = pushes.first(where: { $0.push.event == "update" && $0.push.timestamp >= end })
            {
                throw BrokenPromise(5, "\(destination) got an update at \(late.push.timestamp) after the end at \(end)")
            }
        }
    }

    /// Promise 6: one start per device, a second one only on record, and none when the phone has reported the card; so for
    /// each card that continues another.
    private func checkStarts() async throws {
        var attempts: [String: Int] = [:]
        for start in try await tables.starts() {
            attempts["\(start.activity) \(start.device)"] = start.attempts
        }
        var continuations: [String: Int] = [:]
        for old in try await tables.continuations() {
            attempts["\(old.activity) \(old.device)", default: 0] += old.attempts
            continuations["\(old.activity) \(old.device)", default: 0] += 1
        }
        let (phones, sent) = apple.with { ($0.phones, $0.sent.filter { $0.push.event == "start" }) }
        for phone in phones {
            for match in matches {
                let cards = phone.cards.count { $0.activity == match.id && !$0.isOwn }
                let claims = attempts["\(match.id) \(phone.id)"] ?? 0
                guard cards <= 2 + 2 * (continuations["\(match.id) \(phone.id)"] ?? 0), cards <= claims else {
                    throw BrokenPromise(
                        6,
                        "\(phone.id) has \(cards) cards of \(match.id); on record are \(claims) starts"
                    )
                }
                let reportedAt = phone.cards.filter { $0.activity == match.id }.compactMap(\.reportedAt).min()
                guard let reportedAt else { continue }
                if hasContinuations {
                    try checkEarliness(of: sent, of: match.id, on: phone)
                    continue
                }
                // What a turn claimed that was under way at the report may have left after it.
                guard
                    !sent.contains(where: {
                        $0.push.content?.match == match.id && $0.turn.uptime > reportedAt
                            && phone.startTokens.contains($0.destination)
                    })
                else {
                    throw BrokenPromise(6, "\(phone.id) was started though it had reported its card of \(match.id)")
                }
            }
        }
    }

    /// Promise 9: a token that Tally takes for dead was answered with 410, and a rejected one with a rejection.
    private func checkTokens() async throws {
        let rows = try await clock.database.query(
            "SELECT encode(token, 'hex'), state::text FROM start_tokens WHERE state <> 'live'"
        )
        let cards = try await tables.cards().filter { ["dead", "rejected"].contains($0.state) }
        let ofCards = cards.compactMap { card in card.token.map { ($0, card.state) } }
        let states = try rows.decoded(as: (String, String).self) + ofCards
        let (dead, rejected) = apple.with { (Set($0.diedAt.keys), $0.rejected) }
        for (token, state) in states {
            guard state == "dead" ? dead.contains(token) : rejected.contains(token) else {
                throw BrokenPromise(9, "\(token) is \(state), which Apple never said")
            }
        }
    }

    /// Promise 10: priority 10 is spent within the budget; what is over it is the end's.
    private func checkBudget() async throws {
        for (activity, budgetClass, count) in try await tables.importantUpdates(at: "(SELECT at FROM sim.clock)") {
            guard count < 10 || budgetClass == "frequent" else {
                throw BrokenPromise(10, "\(count) updates of \(activity) had priority 10 in an hour for \(budgetClass)")
            }
        }
    }
}
