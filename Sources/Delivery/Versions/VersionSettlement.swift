import DeliveryStore
import Postgres
import Registry
import Store

/// Before a ring sends anything, takes off it the cards that cannot decode the newest state, and puts back those that
/// can again. An accepted change only notes which app versions are concerned, however many cards they have.
struct VersionSettlement: Sendable {
    let room: DeliveryRoom
    let lease: SegmentLease
    /// The device keys of the ring.
    let range: RingRange

    private struct Unsettled: Sendable {
        let appVersion: String
        let isWithheld: Bool
        let decodesFrom: Int64
    }

    func run() async throws {
        let key = lease.activityKey
        let rows = try await room.database.query(
            """
            SELECT app_version, is_withheld, decodes_from FROM activity_app_versions
            WHERE activity_key = \(key) AND NOT is_settled AND \(lease.segment) <> ALL (settled_rings)
            """
        )
        let unsettled = try rows.decoded(as: (String, Bool, Int64).self).map(Unsettled.init)
        guard !unsettled.isEmpty else { return }
        try await eachPage(after: range.after) { after, limit in
            let alignment = AppVersionRows.alignment(
                unsettledOf: key,
                ring: lease.segment,
                after: after,
                through: range.through,
                limit: limit
            )
            return try await room.database.query(alignment)
        }
        if lease.isFirstRing, unsettled.contains(where: { !$0.isWithheld }) {
            try await startAgain()
        }
        try await room.segments.store([settled(unsettled)], under: lease)
    }

    private func startAgain() async throws {
        try await eachPage(after: 0) { after, limit in
            let again = AppVersionRows.startsAgain(unsettledOf: lease.activityKey, after: after, limit: limit)
            return try await room.database.withYieldingTransaction { connection in
                try await connection.commit([.planningOnce, again])[1]
            }
        }
    }

    /// Runs a statement page by page. Its row says which key was the last of the page, and how many the page has.
    private func eachPage(after first: Int64, _ run: (Int64, Int) async throws -> Rows) async throws {
        var after = first
        let limit = room.settings.stretchSize
        while true {
            guard let (last, count) = try await run(after, limit).first(as: (Int64?, Int64).self), let last,
                count == limit
            else { return }
            after = last
        }
    }

    /// Rows that were changed again meanwhile stay unsettled. The last ring says that it is settled for all.
    private func settled(_ unsettled: [Unsettled]) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET settled_rings = v.settled_rings || \(lease.segment),
            is_settled = NOT EXISTS (
                SELECT FROM segments AS g WHERE g.activity_key = v.activity_key AND g.segment >= 0
                  AND g.segment <> \(lease.segment) AND g.segment <> ALL (v.settled_rings)
            )
        FROM unnest(
            \(unsettled.map(\.appVersion)), \(unsettled.map(\.isWithheld)), \(unsettled.map(\.decodesFrom))
        ) AS r(app_version, is_withheld, decodes_from)
        WHERE v.activity_key = \(lease.activityKey) AND v.app_version = r.app_version
          AND v.is_withheld = r.is_withheld AND v.decodes_from = r.decodes_from
        """
    }
}
