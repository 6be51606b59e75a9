package import APITypes
package import ActivityModel
package import Postgres
import Store

/// A revision that a card was seen to show, of which no receipt had told yet.
package struct ShownRevision: Sendable {
    /// A receipt of a device.
    package struct Told: Sendable {
        let request: Int
        let app: BundleID
        let device: DeviceID
        let receipt: CardReceipt

        /// Takes a receipt of the request at a place.
        package init(request: Int, app: BundleID, device: DeviceID, receipt: CardReceipt) {
            self.request = request
            self.app = app
            self.device = device
            self.receipt = receipt
        }
    }

    /// The place of the request that told of it.
    package let request: Int
    package let environment: APNSEnvironment
    package let urgency: Urgency
    /// How long after its accept the card showed it.
    package let delay: Duration

    /// Stores receipts in one statement. It locks the cards alone, in their order, and never an activity.
    ///
    /// - Parameters:
    ///   - receipts: The receipts of many devices.
    ///   - database: The database that has the cards.
    /// - Returns: What says how long changes take to show. A receipt without an age does not, and a revision that is
    ///   older than the card does not, either.
    /// - Throws: ``PostgresError``.
    package static func store(_ receipts: [Told], in database: Database) async throws -> [ShownRevision] {
        let rows = try await database.pipeline([.planningOnce, statement(receipts)])[1]
        return try rows.decoded(as: (Int64, String, String, Int64).self).map {
            request,
            environment,
            urgency,
            microseconds in
            ShownRevision(
                request: Int(request),
                environment: try .stored(environment),
                urgency: try .stored(urgency),
                delay: .microseconds(microseconds)
            )
        }
    }

    private static func statement(_ told: [Told]) -> Query {
        """
        WITH told AS MATERIALIZED (
            SELECT DISTINCT ON (a.activity_key, d.device_key, r.revision)
                   r.request, a.activity_key, d.device_key, r.revision, a.environment, c.urgency, c.accepted_at,
                   r.age IS NOT NULL AS is_timed,
                   greatest(
                       c.accepted_at, clock_timestamp() - coalesce(r.age, 0) * interval '1 millisecond'
                   ) AS shown_at
            FROM unnest(
                \(told.map { Int64($0.request) }), \(told.map(\.app.rawValue)), \(told.map(\.device.rawValue)),
                \(told.map(\.receipt.activityID.rawValue)), \(told.map(\.receipt.revision)),
                \(told.map(\.receipt.ageMilliseconds))
            ) WITH ORDINALITY AS r(request, bundle_id, device_id, activity_id, revision, age, place)
            CROSS JOIN LATERAL (
                SELECT activity_key, environment FROM activities
                WHERE bundle_id = r.bundle_id AND activity_id = r.activity_id OFFSET 0
            ) AS a
            CROSS JOIN LATERAL (
                SELECT device_key FROM devices
                WHERE bundle_id = r.bundle_id AND device_id = r.device_id OFFSET 0
            ) AS d
            CROSS JOIN LATERAL (
                SELECT urgency, accepted_at FROM changes
                WHERE activity_key = a.activity_key AND revision = r.revision OFFSET 0
            ) AS c
            ORDER BY a.activity_key, d.device_key, r.revision, r.place
        ), newest AS MATERIALIZED (
            SELECT DISTINCT ON (activity_key, device_key) activity_key, device_key, revision, shown_at FROM told
            ORDER BY activity_key, device_key, revision DESC
        ), held AS MATERIALIZED (
            SELECT s.activity_key, s.device_key, s.shown_revision, s.started_at
            FROM newest AS n
            JOIN subscriptions AS s ON \(unescaped: Query.byKey("s", "n", "activity_key", "device_key"))
            WHERE s.shown_revision < n.revision
            ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
        ), stored AS (
            \(unescaped: SubscriptionRows.showing("newest", among: "held"))
        )
        SELECT t.request, t.environment::text, t.urgency::text,
               (extract(epoch FROM t.shown_at - t.accepted_at) * 1000000)::int8
        FROM told AS t JOIN held AS h ON h.activity_key = t.activity_key AND h.device_key = t.device_key
        WHERE t.revision > h.shown_revision AND t.is_timed AND t.accepted_at >= h.started_at
        """
    }
}
