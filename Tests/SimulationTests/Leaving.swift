import APITypes
import ActivityModel
import Intake
import Postgres

@testable import Orchestrator

/// Who is to have a card, as the backend has it change on the way; and reports that come twice.
extension Universe {
    /// A report that the network keeps, to deliver it once more.
    struct OldReport: Sendable {
        let device: String
        let activity: String
        let request: SubscriptionRequest
    }

    /// Half of those that come again say what the card showed when they were made, which is an older state by then.
    func keep(_ request: SubscriptionRequest, of card: Card, on device: String) async throws {
        var request = request
        request.knownRevision = chance(50) ? try await revision(of: card) : nil
        oldReports.append(OldReport(device: device, activity: card.activity, request: request))
    }

    func reportAgain() async throws {
        guard let index = oldReports.indices.randomElement(using: &random) else { return }
        let old = oldReports.remove(at: index)
        note("the report of \(old.activity) by \(old.device), generation \(old.request.generation ?? 0), comes again")
        do {
            _ = try await anyDaemon().orchestrator.intake
                .subscribe(Self.app, ActivityID(stored: old.activity), DeviceID(stored: old.device), old.request)
        } catch is PostgresError {
            try await replaceTheDead()
        } catch let problem as Problem {
            note("it is refused: \(problem.code)")
        }
    }

    /// Members are added and removed, while starts may be on their way to them.
    func changeAudience() async throws {
        // The others are for the followers of their topics and for nobody else.
        guard let match = matches.filter({ !$0.hasEnded && $0.audience == nil }).randomElement(using: &random),
            let phone = apple.with({ $0.phones.randomElement(using: &$0.random)?.id })
        else { return }
        let audience = chance(15) ? Audience(allOfType: true) : Audience(devices: [DeviceID(stored: phone)])
        let isAdding = chance(60)
        note("\(audience.allOfType ? "everybody" : phone) is \(isAdding ? "added to" : "removed from") \(match.id)")
        do {
            _ = try await anyDaemon().orchestrator.intake
                .changeAudience(
                    Self.app,
                    ActivityID(stored: match.id),
                    AudienceRequest(add: isAdding ? audience : nil, remove: isAdding ? nil : audience)
                )
        } catch is PostgresError {
            try await replaceTheDead()
        } catch let problem as Problem {
            note("it is refused: \(problem.code)")
        }
    }

    /// The backend ends a card on one phone, whose app has reported it and tells nothing of it any more.
    func leave() async throws {
        let found = apple.with { state -> (phone: Int, card: Int)? in
            let cards = state.phones.indices.flatMap { phone in
                state.phones[phone].cards.indices.filter { state.phones[phone].mayLeave($0) }.map { (phone, $0) }
            }
            return cards.randomElement(using: &state.random)
        }
        guard let (phone, card) = found else { return }
        let (device, activity) = apple.with { state in
            let activity = state.phones[phone].cards[card].activity
            for other in state.phones[phone].cards.indices where state.phones[phone].cards[other].activity == activity {
                state.phones[phone].cards[other].hasLeft = true
                state.phones[phone].cards[other].isKnown = false
            }
            return (state.phones[phone].id, activity)
        }
        oldReports.removeAll { $0.device == device && $0.activity == activity }
        note("the backend ends the card of \(activity) on \(device)")
        while true {
            do {
                try await anyDaemon().orchestrator.intake
                    .unsubscribe(Self.app, ActivityID(stored: activity), DeviceID(stored: device))
                return apple.with { $0.phones[phone].cards[card].isToEnd = true }
            } catch is PostgresError {
                try await replaceTheDead()
            } catch let problem as Problem {
                // It was carried out, and its answer lost.
                return note("it is refused: \(problem.code)")
            }
        }
    }

    /// Promise 2: a card that the backend has ended on one phone alone is over there.
    func checkLeft() async throws {
        let (phones, rejected) = apple.with { ($0.phones, $0.rejected) }
        for phone in phones {
            for (index, card) in phone.cards.enumerated() where card.isToEnd && !card.isEnded {
                // A start that was on its way has made another card, and its report took the place of this one: Tally
                // keeps one for each phone (promise 6).
                guard phone.newestCard(of: card.activity) == index else { continue }
                // One that listens to a channel cannot be ended alone. Of one whose token was replaced nobody knows how to
                // reach it, nor of one whose token Apple has rejected: such a card is forgotten, so its row tells no more
                // of that.
                guard let token = card.updateToken, card.tokens.count == 1, !rejected.contains(token) else { continue }
                throw BrokenPromise(2, "\(phone.id) still shows \(card.activity), which was ended there")
            }
        }
    }
}

extension Phone {
    /// Whether the backend may end the card for this phone: it is the newest of its activity, and Tally knows it.
    fileprivate func mayLeave(_ card: Int) -> Bool {
        cards[card].isKnown && !cards[card].isGone && newestCard(of: cards[card].activity) == card
    }
}
