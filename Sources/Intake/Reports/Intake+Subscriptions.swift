package import APITypes
package import ActivityModel
import Cards
import DeliveryStore
import JSON
import Postgres
package import Registry
import Store

extension Intake {
    /// Takes the report of an app about one card. Anything that the card lacks is sent at once (promise 7).
    ///
    /// A report with an older generation than the stored one changes nothing. A report may leave out what the card
    /// shows. Then the card counts as showing what its start or the last accepted push carried. A token that replaces
    /// another is sent what the phone has not confirmed, because pushes to the old token may be lost. If the 8 hours of
    /// the card are over, the answer is `over` and Tally sends nothing.
    ///
    /// `ticket`: what the caller has instead of a key. One that names no activities is good for those that its device
    /// or user has a part in (``TicketedCard``).
    ///
    /// - Throws: 404 for an unknown activity; 403 if the ticket is not for it, whether or not it exists; 401 for one
    ///   that was revoked since it was checked; 422 for a device of the other environment, or for an unknown device
    ///   without an environment.
    package func subscribe(
        _ app: BundleID,
        _ activity: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest,
        by ticket: TicketGrant? = nil
    ) async throws -> SubscriptionAnswer {
        var card = ReportedCard(app: app, activity: activity, device: device, request: request)
        card.ticket = ticket
        return try (await accept([card]).first ?? .failure(Problem.internalError())).get()
    }

    /// Takes reports, each judged on its own; those of one device in their order.
    ///
    /// - Returns: One answer for each, as ``subscribe(_:_:_:_:)`` gives or throws it.
    func accept(_ cards: [ReportedCard]) async -> [Result<SubscriptionAnswer, any Error>] {
        await registry.withCurrentTypes(cards) { await take($0) }
    }

    /// Fails with ``OutdatedType`` if the type was changed meanwhile.
    private func take(_ cards: [ReportedCard]) async -> [Result<SubscriptionAnswer, any Error>] {
        let facts = await facts(of: cards.map(\.name))
        var reports: [(place: Int, report: CardReport)] = []
        // Nil for those that are judged below.
        var answers: [Result<SubscriptionAnswer, any Error>?] = []
        for (place, (card, facts)) in zip(cards, facts).enumerated() {
            switch facts {
            case .success(let facts):
                reports.append((place, CardReport(card: card, facts: facts, registry: registry)))
                answers.append(nil)
            case .failure(let error): answers.append(.failure(card.refusal(instead: error)))
            }
        }
        let limit = intakeLimit
        let accepted = await groups.reports.submit(reports.map { ($0.report.card.deviceName, $0.report) }) {
            _,
            backlog throws(Problem) in
            try limit.admit(.pressing, behind: backlog)
        }
        for ((place, _), answer) in zip(reports, accepted) { answers[place] = answer }
        return answers.compactMap { $0 }
    }

    /// Ends the card on the phone, then forgets it. A card that has not reported its token yet is ended when it does;
    /// one that listens to a channel cannot be ended alone, and is only counted no more. One that is gone, or whose
    /// token must not be sent to, is forgotten at once (promise 9). An audience that the device belongs to does not
    /// start it again.
    ///
    /// - Throws: 404.
    package func unsubscribe(_ app: BundleID, _ activity: ActivityID, _ device: DeviceID) async throws {
        let facts = try await facts(app, activity)
        let found = try await seeingDeletions {
            try await database.withTransaction { try await LeavingCards.leave(facts.key, app, device, on: $0) }
        }
        guard found else { throw Problem.notFound("the subscription") }
        wakeUps.signal()
    }
}
