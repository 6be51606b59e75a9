import ActivityModel
package import Postgres
package import Store

/// Cards and starts by the versions of their apps. The rows of `activity_app_versions` say which app versions follow an
/// activity, and whether the newest state may go to them. The registry writes those rows.
package enum CardVersions {
    /// The reason of a card, or a start, that is withheld because its app could not decode what would be sent.
    package static let reason = StartStateMachine.Reason.incompatibleVersion.rawValue

    /// The version of the app on the device `d`, as the rows know it.
    package static let appVersion = "coalesce(d.app_version, '')"

    /// The condition that a row changed, and some cards or starts of its app version have still to follow.
    package static func isUnsettled(_ v: String) -> String { "NOT \(v).is_settled" }

    /// The same for the cards of one ring. The rows `v` remember the rings that are done.
    package static func isUnsettled(_ v: String, on ring: Int16) -> Query {
        "(\(unescaped: isUnsettled(v)) AND \(ring) <> ALL (\(unescaped: v).settled_rings))"
    }

    /// The condition that all cards and starts of the activity `a` have followed its rows.
    package static let areSettled = """
        NOT EXISTS (
            SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key AND \(isUnsettled("v"))
        )
        """

    /// The statement that says for which cards there is a row of the device's app version; there need not be a card
    /// yet.
    package static func known(_ cards: [CardKey]) -> Query { selection(of: cards, "OFFSET 0") }

    /// The same; the rows are held until the transaction ends. Everybody holds them in one order.
    package static func hold(_ cards: [CardKey]) -> Query { selection(of: cards, "FOR SHARE") }

    /// By LATERAL, because the table grows fast from nothing when many activities begin (``Query/byKey(_:_:_:)``).
    private static func selection(of cards: [CardKey], _ end: String) -> Query {
        """
        SELECT r.activity_key, r.device_key
        FROM (
            SELECT r.activity_key, r.device_key, \(unescaped: appVersion) AS app_version
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            CROSS JOIN LATERAL (SELECT app_version FROM devices WHERE device_key = r.device_key OFFSET 0) AS d
            ORDER BY r.activity_key, app_version
        ) AS r
        CROSS JOIN LATERAL (
            SELECT FROM activity_app_versions AS v
            WHERE v.activity_key = r.activity_key AND v.app_version = r.app_version \(unescaped: end)
        ) AS v
        """
    }

    /// The cards that the rows of ``known(_:)`` or ``hold(_:)`` tell of.
    package static func cards(_ rows: Rows) throws -> Set<CardKey> {
        Set(try rows.decoded(as: (Int64, Int64).self).map { CardKey(activityKey: $0, deviceKey: $1) })
    }
}
