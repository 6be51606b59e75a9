import ActivityModel
import JSON
package import Postgres

/// The statements that write `events`; the only ones. Insert them in the transaction that they describe.
package enum EventRows {
    /// Writes events in their order, with one statement.
    package static func insertion(_ events: [Event]) -> Query {
        var apps: [String?] = []
        var environments: [String?] = []
        var activities: [Int64?] = []
        var devices: [Int64?] = []
        for event in events {
            switch event.subject {
            case .app(let app, let environment, let device):
                apps.append(app.rawValue)
                environments.append(environment.rawValue)
                activities.append(nil)
                devices.append(device)
            case .activity(let key, let device):
                apps.append(nil)
                environments.append(nil)
                activities.append(key)
                devices.append(device)
            }
        }
        return """
            INSERT INTO events (kind, bundle_id, environment, activity_id, device_id, detail)
            SELECT e.kind, coalesce(e.bundle_id, a.bundle_id), coalesce(e.environment::apns_environment, a.environment),
                   a.activity_id, d.device_id, e.detail::json
            FROM unnest(
                \(events.map(\.kind.word)), \(apps), \(environments), \(activities), \(devices),
                \(events.map { JSONValue.object($0.detail).text })
            ) WITH ORDINALITY AS e(kind, bundle_id, environment, activity_key, device_key, detail, place)
            LEFT JOIN activities AS a ON a.activity_key = e.activity_key
            LEFT JOIN devices AS d ON d.device_key = e.device_key
            ORDER BY e.place
            """
    }

    /// An event of an activity whose names are at hand.
    struct Named {
        let kind: Event.Kind
        let activity: ActivityNames
        let detail: JSONObject
    }

    /// Writes events of one moment in their order; nothing is looked up, and nothing is cheaper.
    static func copy(_ events: [Named], at time: PGTimestamp, on connection: PostgresConnection) async throws {
        guard !events.isEmpty else { return }
        let columns = ["at", "kind", "bundle_id", "environment", "activity_id", "detail"]
        try await connection.copyIn(into: "events", columns: columns, events) { event, fields in
            fields.append(time)
            fields.append(event.kind.word)
            fields.append(event.activity.app.rawValue)
            fields.append(event.activity.environment.rawValue)
            fields.append(event.activity.id.rawValue)
            fields.append(JSONText(JSONValue.object(event.detail).serialized()))
        }
    }

    /// The SQL that writes one event for each row `r` of `source` for which `condition` holds. `source` is a table or a
    /// subquery with the columns `activity_key` and `device_key`; either may be null. For what the database itself
    /// finds out.
    ///
    /// `detail` is an SQL expression of type `json` over `r`. What callers sent has no place in it.
    package static func insertion(
        of kind: Event.Kind,
        from source: String,
        detail: String,
        where condition: String = "true"
    ) -> String {
        """
        INSERT INTO events (kind, bundle_id, environment, activity_id, device_id, detail)
        SELECT '\(kind.word)', coalesce(a.bundle_id, d.bundle_id), coalesce(a.environment, d.environment), a.activity_id,
               d.device_id, \(detail)
        FROM \(source) AS r
        LEFT JOIN activities AS a ON a.activity_key = r.activity_key
        LEFT JOIN devices AS d ON d.device_key = r.device_key
        WHERE \(condition)
        """
    }

    /// As ``insertion(of:from:detail:where:)`` for events of an app alone: the rows have the column `bundle_id`.
    package static func insertionOfApps(_ kind: Event.Kind, from source: String, detail: String) -> String {
        "INSERT INTO events (kind, bundle_id, detail) SELECT '\(kind.word)', r.bundle_id, \(detail) FROM \(source) AS r"
    }

    /// The SQL that writes one event per activity for the changes in `source`, a common table expression with the
    /// columns `activity_key`, `revision` and `merged_into`.
    package static func merge(from source: String) -> String {
        let merges = """
            (SELECT activity_key, NULL::bigint AS device_key, merged_into, array_agg(revision ORDER BY revision) AS revisions
             FROM \(source) GROUP BY activity_key, merged_into)
            """
        return insertion(
            of: .changesMerged,
            from: merges,
            detail: """
                json_build_object('into', r.merged_into, 'revisions', r.revisions[:\(mostRevisions)], \
                'count', cardinality(r.revisions))
                """
        )
    }

    /// How many merged revisions an event names.
    private static let mostRevisions = 100

    /// Which token of a device is meant.
    package enum TokenKind: String {
        case start, update
    }

    /// As ``insertion(of:from:detail:where:)`` for tokens that died, whose rows also have the column `reason`.
    package static func tokenDeath(of token: TokenKind, from source: String, where condition: String = "true") -> String
    {
        insertion(
            of: .tokenDied,
            from: source,
            detail: "json_build_object('token', '\(token.rawValue)', 'reason', r.reason)",
            where: condition
        )
    }
}
