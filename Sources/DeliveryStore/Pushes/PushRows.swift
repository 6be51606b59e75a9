package import APITypes
package import ActivityModel
package import Postgres
import Store

/// How the rows of `pushes` are written.
package enum PushRows {
    /// The statement that inserts an ordinary push of an app, with its body, for some tokens. It returns the id of the
    /// push, once per token. The three lists have the same length. A token that Tally does not store has no device key.
    /// A push without an expiry of its own is retried for the time of `patience`.
    package static func insertion(
        of request: PushRequest,
        _ body: [UInt8],
        _ app: BundleID,
        priority: PushPriority,
        deviceKeys: [Int64?],
        environments: [String],
        tokens: [[UInt8]],
        patience: Duration
    ) -> Query {
        """
        INSERT INTO pushes (push_id, bundle_id, environment, device_key, token, push_type, priority, expiration,
            collapse_id, body, deadline)
        SELECT id.id, \(app.rawValue), d.environment::apns_environment, d.device_key, d.token,
               \(request.pushType.rawValue), \(Int16(priority.rawValue)), \(request.expiresAt?.unixSeconds),
               \(request.collapseID), \(body),
               coalesce(\(request.expiresAt?.stored), clock_timestamp() + \(patience))
        FROM (SELECT gen_random_uuid() AS id) AS id,
             unnest(\(deviceKeys), \(environments), \(tokens)) AS d(device_key, environment, token)
        RETURNING push_id::text
        """
    }
}
