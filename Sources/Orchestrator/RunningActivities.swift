import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Registry
import Store

/// What changes of the registry mean to activities and cards.
struct RunningActivities: ActivityKeeper {
    let database: Database
    let work: DeliveryStore

    func startActivities(on deviceKeys: [Int64], after statements: [Query], isReport: Bool) async throws {
        try await work.enrol(deviceKeys: deviceKeys, after: statements, isReport: isReport)
    }

    func endCards(_ cards: [CardKey], on connection: PostgresConnection) async throws {
        _ = try await connection.pipeline(CardKey.hold(cards) + LeavingCards.statements(cards, starts: .cancelled))
    }

    func pushDeletion(of app: BundleID, limit: Int) -> Query { PushRows.deletion(of: app, limit: limit) }

    func deleteActivities(of app: BundleID) async throws {
        var place: ActivityDeletion.Place? = .oldest
        while let after = place {
            place = try await database.withYieldingTransaction { connection in
                try await ActivityDeletion(cause: .app(app), after: after).run(on: connection).next
            }
        }
    }
}
