package import ActivityModel
package import Postgres
import Registry
package import Store

// What the registry asks of this room.

extension Orchestrator: ActivityKeeper {
    package func startActivities(on deviceKeys: [Int64], after statements: [Query], isReport: Bool) async throws {
        try await deliveryStore.enrol(deviceKeys: deviceKeys, after: statements, isReport: isReport)
    }

    package func endCards(_ cards: [CardKey], on connection: PostgresConnection) async throws {
        _ = try await connection.pipeline(CardKey.hold(cards) + LeavingCards.statements(cards, starts: .cancelled))
    }

    package func readmit(_ deviceKey: Int64, on connection: PostgresConnection) async throws {
        try await AppVersionAdmission(registry: registry).readmit(deviceKey, on: connection)
    }

    package func deleteActivities(of app: BundleID) async throws {
        var place: ActivityDeletion.Place? = .oldest
        while let after = place {
            place = try await database.withYieldingTransaction { connection in
                try await ActivityDeletion(cause: .app(app), after: after).run(on: connection).next
            }
        }
    }
}
