import APITypes
import ActivityModel
import DeliveryStore
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
    /// The ticket it came with.
    var ticket: TicketGrant?
    /// The ticket if it names no activities. Then only somebody with a part in the activity may report.
    var openTicket: TicketGrant? { ticket.flatMap { $0.activities == nil ? $0 : nil } }

    var name: ActivityFacts.Name { ActivityFacts.Name(app: app, id: activity) }
    var deviceName: Device { Device(app: app, id: device) }

    /// What is answered if the activity cannot be read: the bearer of a ticket is not told that it does not exist.
    func refusal(instead error: any Error) -> any Error {
        if openTicket != nil, let problem = error as? Problem, problem.status == 404 {
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
