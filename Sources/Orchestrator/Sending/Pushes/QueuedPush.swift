import APNSTransport
import ActivityModel
import Postgres

/// One row of `pushes` that was taken to be sent.
struct QueuedPush: Sendable {
    let key: Int64
    let id: String
    let apnsID: APNSRequestID
    let app: BundleID
    let environment: APNSEnvironment
    /// Whose own token it is; nil for a token that the caller gave.
    let deviceKey: Int64?
    let token: PushToken
    let pushType: PushType
    let priority: PushPriority
    let expiration: Int64?
    let collapseID: String?
    let body: [UInt8]
    /// Tries that came to nothing.
    let failures: Int
    /// Its deadline has passed.
    let isOver: Bool

    var headers: PushHeaders {
        PushHeaders(
            bundleID: app,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            requestID: apnsID
        )
    }

    /// Takes what is due for as long as `lease`. Where sending is halted only what is over is taken.
    static func claim(_ limit: Int, for lease: Duration, from database: Database) async throws -> [QueuedPush] {
        let rows = try await database.query(
            """
            WITH due AS MATERIALIZED (
                SELECT push_key FROM pushes AS p
                WHERE due_at <= clock_timestamp() AND (deadline <= clock_timestamp() OR NOT EXISTS (
                    SELECT FROM sending_halts AS h WHERE h.bundle_id = p.bundle_id AND h.environment = p.environment))
                ORDER BY due_at LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE pushes AS p SET due_at = clock_timestamp() + \(lease)
            FROM due WHERE p.push_key = due.push_key
            RETURNING p.push_key, p.push_id::text, p.apns_id::text, p.bundle_id, p.environment::text, p.device_key, p.token,
                      p.push_type, p.priority, p.expiration, p.collapse_id, p.body, p.failures,
                      p.deadline <= clock_timestamp()
            """
        )
        return try rows.decoded(
            as: (
                Int64, String, String, String, String, Int64?, [UInt8], String, Int16, Int64?, String?, [UInt8], Int16,
                Bool
            ).self
        ).compactMap {
            key,
            id,
            apnsID,
            app,
            environment,
            deviceKey,
            token,
            type,
            priority,
            expiration,
            collapseID,
            body,
            failures,
            isOver in
            // CHECKs and the insertion keep all three within what makes these nil.
            guard let token = PushToken(bytes: token), let priority = PushPriority(rawValue: Int(priority)),
                let type = PushType(rawValue: type)
            else { return nil }
            return QueuedPush(
                key: key,
                id: id,
                apnsID: APNSRequestID(stored: apnsID),
                app: BundleID(stored: app),
                environment: try .stored(environment),
                deviceKey: deviceKey,
                token: token,
                pushType: type,
                priority: priority,
                expiration: expiration,
                collapseID: collapseID,
                body: body,
                failures: Int(failures),
                isOver: isOver
            )
        }
    }
}
