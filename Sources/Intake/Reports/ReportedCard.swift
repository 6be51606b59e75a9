import APITypes
import ActivityModel
import Postgres
import Registry
import Store

/// One report of a card as an app made it.
struct ReportedCard: Sendable {
    typealias Device = DeviceName

    let app: BundleID
    let activity: ActivityID
    let device: DeviceID
    let request: SubscriptionRequest
    var idempotencyKey: IdempotencyKey?
    /// The ticket it came with, if that names no activities. Then only somebody with a part in the activity may report.
    var ticket: TicketGrant?

    var name: ActivityFacts.Name { ActivityFacts.Name(app: app, id: activity) }
    var deviceName: Device { Device(app: app, id: device) }

    /// What is answered if the activity cannot be read: the bearer of a ticket is not told that it does not exist.
    func refusal(instead error: any Error) -> any Error {
        if ticket != nil, let problem = error as? Problem, problem.status == 404 {
            Problem.otherActivity
        } else {
            error
        }
    }
}

/// A report whose activity is known.
struct CardReport: Sendable {
    let card: ReportedCard
    let facts: ActivityFacts
    let registry: Registry

    var type: RegistryCaches.TypeKey { RegistryCaches.TypeKey(app: card.app, name: facts.typeName) }
}

/// A report of a known device, whose start has been settled: what is to be stored of the card.
struct SettledReport: Sendable {
    let facts: ActivityFacts
    let deviceKey: Int64
    let request: SubscriptionRequest
    /// A revision that the card certainly has: it says so, or its start carried it.
    let revision: Revision?
    /// When its start left; nil if the app started it itself.
    let startedAt: PGTimestamp?
    /// Whether the card is to end because its device has left the audience by its topics.
    let isLeaving: Bool
    /// Whether this report, or the start that it settles, tells what the card shows.
    let isNews: Bool

    var kind: ReportRows.Kind {
        let reach: ReportRows.Kind.Reach =
            switch request.report {
            case .updateToken: .token
            case .channelID, .channel: .channel
            case .ended: .nothing
            }
        return ReportRows.Kind(
            reach: reach,
            hasGeneration: request.generation != nil,
            hasInstallation: reach != .nothing && request.installation != nil,
            isNews: isNews,
            isPending: request.isPending
        )
    }
}
