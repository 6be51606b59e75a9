import APITypes
import ActivityModel
import DeliveryStore
import Store

/// One requested start. Tally has not looked yet whether its id is free.
struct RequestedStart: Sendable {
    let app: BundleID
    let id: ActivityID
    let request: StartRequest
    let idempotencyKey: IdempotencyKey?
    /// The request that brought it; nil for a dry run.
    let origin: RequestOrigin?

    var name: ActivityFacts.Name { ActivityFacts.Name(app: app, id: id) }

    /// The most members and topics of an audience whose start shares a transaction with others.
    private static let mostMembers = 16

    /// Whether others may wait for the rows of its audience.
    var isSmall: Bool {
        let audience = request.audience
        return audience.users.count + audience.devices.count + audience.topics.count <= Self.mostMembers
    }
}

/// A start that waits to be stored.
///
/// A class, because a start is large and a group passes it on.
final class StartCommand: Sendable {
    let start: RequestedStart
    /// What is stored if the id is free, or why the start is refused then. The same start again is a replay, whatever the
    /// type says now.
    let proposal: Result<StartProposal, any Error>

    init(_ start: RequestedStart, _ proposal: Result<StartProposal, any Error>) {
        self.start = start
        self.proposal = proposal
    }
}
