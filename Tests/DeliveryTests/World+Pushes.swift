import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres

@testable import Delivery
@testable import Orchestrator

extension PushRequest.Target {
    static let phone = PushRequest.Target.device(DeviceID(stored: "phone"))
}

extension PushRequest {
    static func ordinary(
        _ to: PushRequest.Target,
        _ type: PushType = .alert,
        aps: JSONValue? = ["alert": "Goal"]
    ) -> PushRequest {
        PushRequest(to: to, pushType: type, aps: aps)
    }
}

extension World {
    func sendDuePushes() async throws {
        try await PushQueue(room: orchestrator.delivery).sendDue()
    }

    func waitingPushes() async throws -> Int64? {
        try await number("SELECT count(*) FROM pushes")
    }

    /// Accepts pushes to tokens that no device has. They are due for a minute.
    func acceptPushes(_ tokens: [String], of app: BundleID) async throws {
        try await database.execute(
            """
            INSERT INTO pushes (push_id, bundle_id, environment, token, push_type, priority, body, deadline, due_at)
            SELECT gen_random_uuid(), \(app.rawValue), 'production', decode(t.token, 'hex'), 'alert', 10, '{}',
                   now() + interval '1 day', now() - interval '1 minute'
            FROM unnest(\(tokens)) AS t(token)
            """
        )
    }
}
