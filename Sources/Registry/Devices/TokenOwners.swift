import Cards
import Postgres

/// One token belongs to one device (promise 7): the newest report takes it from the rows of others, within an app and
/// an environment. An app that was reinstalled under another id leaves such a row behind. Cards have the same rule
/// (``SubscriptionRows/giveUpTokens(of:)``).
///
/// Run it after the commit of the report. If two reports commit at the same time, the later one sees both rows. Both apply
/// the same rule.
enum TokenOwners {
    /// The statement for the start tokens of devices.
    static func startTokens(of deviceKeys: [Int64]) -> Query {
        """
        WITH older AS MATERIALIZED (
            SELECT CASE WHEN (o.registered_at, o.device_key) < (k.registered_at, k.device_key)
                       THEN o.device_key ELSE k.device_key END AS device_key,
                   k.type_name, k.token
            FROM unnest(\(deviceKeys)) AS r(device_key)
            -- Each is one look at an index, whatever the tables were like when this was planned.
            CROSS JOIN LATERAL (SELECT * FROM start_tokens WHERE device_key = r.device_key OFFSET 0) AS k
            CROSS JOIN LATERAL (
                SELECT bundle_id, environment FROM devices WHERE device_key = k.device_key OFFSET 0
            ) AS d
            CROSS JOIN LATERAL (SELECT * FROM start_tokens AS t WHERE t.token = k.token OFFSET 0) AS o
            CROSS JOIN LATERAL (
                SELECT bundle_id, environment FROM devices WHERE device_key = o.device_key OFFSET 0
            ) AS e
            WHERE o.device_key <> k.device_key AND o.type_name = k.type_name
              AND e.bundle_id = d.bundle_id AND e.environment = d.environment
        ), held AS MATERIALIZED (
            SELECT t.device_key, t.type_name FROM start_tokens AS t JOIN older AS o
                ON t.device_key = o.device_key AND t.type_name = o.type_name AND t.token = o.token
            WHERE t.device_key = ANY (ARRAY(SELECT device_key FROM older))
            ORDER BY t.device_key, t.type_name FOR UPDATE OF t
        )
        DELETE FROM start_tokens AS t USING held AS h
        WHERE t.device_key = h.device_key AND t.type_name = h.type_name
          AND t.device_key = ANY (ARRAY(SELECT device_key FROM held))
        """
    }
}
