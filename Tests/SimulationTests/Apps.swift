import APITypes
import ActivityModel
import Intake
import Postgres
import TestSupport

@testable import Orchestrator

/// What the apps on the phones report.
extension Universe {
    /// The app comes to the front: it registers its device with the start token that it has.
    func launchApp() async throws {
        try await launchApp(of: apple.with { Int.random(in: 0..<$0.phones.count, using: &$0.random) })
    }

    func launchApp(of phone: Int) async throws {
        let launched = apple.with { $0.phones[phone] }
        let (id, token) = (launched.id, launched.startToken)
        var request = DeviceRequest(environment: .production)
        request.osVersion = OSVersion(launched.osVersion)
        request.frequentPushesEnabled = launched.id.hasSuffix("3")
        request.appVersion = AppVersion(launched.appVersion)
        if hasTopics, let user = Self.user(of: id) { request.user = .user(user) }
        guard let parsed = PushToken(hex: token) else { return }
        request.startTokens = [Self.game: StartTokenRequest(token: parsed)]
        do {
            _ = try await anyDaemon().orchestrator.intake.putDevice(Self.app, DeviceID(stored: id), request)
            note("\(id) registers \(token)")
            apple.with { state in
                if state.phones[phone].startToken == token { state.phones[phone].isStartTokenKnown = true }
                if state.phones[phone].knownApp?.version != launched.appVersion {
                    state.phones[phone].knownApp = (launched.appVersion, state.uptime)
                }
                if launched.appVersion == Self.newerApp, state.phones[phone].newerSince == nil {
                    state.phones[phone].newerSince = state.uptime
                }
            }
        } catch is PostgresError {
            try await replaceTheDead()
        }
    }

    /// A phone gets the newer app, which is launched at once or later.
    func updateApp() async throws {
        let phone = apple.with { state in
            // One that shows a card, if there is any.
            let shown = state.phones.indices.filter { state.phones[$0].cards.contains { !$0.isGone && !$0.isEnded } }
            let phones = shown.isEmpty ? Array(state.phones.indices) : shown
            let phone = phones[Int.random(in: 0..<phones.count, using: &state.random)]
            state.phones[phone].appVersion = Self.newerApp
            return phone
        }
        note("phone\(phone + 1) updates its app")
        if chance(70) { try await launchApp(of: phone) }
    }

    /// Reports that are due, in the order of phones and cards.
    var reportsDue: [(phone: Int, card: Int)] {
        apple.with { state in
            state.phones.indices.flatMap { phone in
                state.phones[phone].cards.indices.filter {
                    state.phones[phone].cards[$0].isReportDue && !state.phones[phone].cards[$0].hasLeft
                }.map {
                    (phone, $0)
                }
            }
        }
    }

    /// One card is reported. An app reports the newest card of an activity: of an older one it knows no more.
    func report() async throws {
        guard let (phone, card) = reportsDue.randomElement(using: &random) else { return }
        let (id, reported) = apple.with { state in
            state.phones[phone].begin(card)
            return (state.phones[phone].id, state.phones[phone].cards[card])
        }
        let report: SubscriptionRequest.Report
        if reported.isGone {
            report = .ended
        } else if let token = reported.updateToken.flatMap({ PushToken(hex: $0) }) {
            report = .updateToken(token)
        } else {
            report = .channel
        }
        let request = SubscriptionRequest(
            report,
            isPending: reported.isPending && !reported.isGone,
            generation: reported.generation,
            knownRevision: reported.isOwn && reported.knownSince == nil ? try await revision(of: reported) : nil,
            activityKitID: hasContinuations ? "\(id)-card\(reported.number)" : nil,
            environment: .production
        )
        if chance(30) { try await keep(request, of: reported, on: id) }
        do {
            _ = try await anyDaemon().orchestrator.intake
                .subscribe(Self.app, ActivityID(stored: reported.activity), DeviceID(stored: id), request)
            let what = reported.isGone ? "gone" : reported.updateToken ?? "channel"
            let pending = reported.isPending ? ", pending" : ""
            note("\(id) reports card \(reported.number) of \(reported.activity): \(what)\(pending)")
            let rows = try await clock.database.query(
                "SELECT revision FROM activities WHERE activity_id = \(reported.activity)"
            )
            let newest = try rows.first(as: Int64.self) ?? 0
            apple.with { state in
                if state.phones[phone].cards[card].reportedAt == nil {
                    state.phones[phone].cards[card].reportedAt = state.uptime
                }
                // One that has not begun is owed no alerts.
                if state.phones[phone].cards[card].knownSince == nil, !reported.isPending {
                    state.phones[phone].cards[card].knownSince = newest
                }
                let now = state.phones[phone].cards[card]
                guard now.generation == reported.generation, now.isGone == reported.isGone else { return }
                state.phones[phone].cards[card].isReportDue = now.isToBegin && !now.isGone
                state.phones[phone].cards[card].isKnown = !reported.isGone
            }
            if reported.isGone { noteGone(card, on: phone) }
        } catch is PostgresError {
            try await replaceTheDead()
        } catch let problem as Problem {
            // The activity's channel is lost and not replaced yet, say: the app tries again later.
            note("\(id) is refused card \(reported.number) of \(reported.activity): \(problem.code)")
        }
    }

    /// The revision whose state a card shows: an app that starts a card itself says so, else its card is taken for the
    /// start's.
    func revision(of card: Card) async throws -> Revision? {
        try await clock.database.query(
            """
            SELECT max(c.revision) FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(card.activity) AND (c.content_state->>'score')::bigint = \(card.score)
            """
        ).first(as: Int64?.self) ?? nil
    }

    /// An app does not wait for the start of a match that its phone has no card of; least of all for one that Tally
    /// puts off.
    func startOwnCard() async throws {
        guard let match = matches.filter({ !$0.hasEnded && $0.delivery != .channel }).randomElement(using: &random),
            let score = match.accepted.first?.score
        else { return }
        let withheld = try await tables.starts().filter { $0.activity == match.id && $0.state == "withheld" }
        let putOff = Set(withheld.map(\.device))
        let name = apple.with { state -> String? in
            let phones = state.phones.indices.filter { state.phones[$0].newestCard(of: match.id) == nil }
            let waiting = phones.filter { putOff.contains(state.phones[$0].id) }
            guard let phone = (waiting.isEmpty ? phones : waiting).randomElement(using: &state.random) else {
                return nil
            }
            state.phones[phone].startCard(of: match.id, score: score, at: state.uptime)
            return state.phones[phone].id
        }
        if let name { note("\(name) starts a card of \(match.id) itself") }
    }

    func rotateUpdateToken() {
        change { state, phone, card in
            state.rotateUpdateToken(of: phone, card: card)
            return "rotates its update token"
        }
    }

    func rotateStartToken() {
        let name = apple.with { state in
            let phone = Int.random(in: 0..<state.phones.count, using: &state.random)
            state.rotateStartToken(of: phone)
            return state.phones[phone].id
        }
        note("\(name) rotates its start token")
    }

    /// Apple replaces the update tokens of many cards at once; their apps report that one after the other.
    func rotateMany(percent: Int) {
        let count = apple.with { state in
            var count = 0
            for phone in state.phones.indices {
                for card in state.phones[phone].cards.indices
                where !state.phones[phone].cards[card].isGone && !state.phones[phone].cards[card].hasLeft {
                    guard Int.random(in: 0..<100, using: &state.random) < percent else { continue }
                    state.rotateUpdateToken(of: phone, card: card)
                    count += 1
                }
            }
            return count
        }
        note("\(count) update tokens are replaced")
    }

    func swipeAway() {
        change { state, phone, card in
            state.swipeAway(phone: phone, card: card)
            // Some apps tell, some do not.
            state.phones[phone].cards[card].isReportDue = Bool.random(using: &state.random)
            state.phones[phone].cards[card].generation += 1
            return "swipes its card away"
        }
    }

    private func change(_ body: (inout Apple.State, Int, Int) -> String) {
        let text = apple.with { state -> String? in
            let cards = state.phones.indices.flatMap { phone in
                state.phones[phone].cards.indices.filter {
                    !state.phones[phone].cards[$0].isGone && !state.phones[phone].cards[$0].hasLeft
                }.map { (phone, $0) }
            }
            guard let (phone, card) = cards.randomElement(using: &state.random) else { return nil }
            return "\(state.phones[phone].id) \(body(&state, phone, card))"
        }
        if let text { note(text) }
    }
}
