import Postgres

/// Takes cards off the ring that could not decode the newest state, and brings those back that can again, before anything is
/// sent: an accepted change only says which app versions are concerned, however many cards they have.
struct VersionSettlement: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease

    private static let batchSize = 5_000

    private struct Unsettled: Sendable {
        let appVersion: String
        let isWithheld: Bool
        let decodesFrom: Int64
    }

    func run() async throws {
        let key = lease.activityKey
        let rows = try await orchestrator.database.query(
            """
            SELECT app_version, is_withheld, decodes_from FROM activity_app_versions
            WHERE activity_key = \(key) AND NOT is_settled
            """
        )
        let unsettled = try rows.decoded(as: (String, Bool, Int64).self).map(Unsettled.init)
        guard !unsettled.isEmpty else { return }
        var count: Int
        repeat {
            let alignment = AppVersionRows.alignment(unsettledOf: key, limit: Self.batchSize)
            count = try await orchestrator.database.query(alignment).count
        } while count == Self.batchSize
        try await orchestrator.segments.store(
            [AppVersionRows.startsAgain(unsettledOf: key), settled(unsettled)],
            under: lease
        )
    }

    /// What was changed again meanwhile stays to be settled.
    private func settled(_ unsettled: [Unsettled]) -> Query {
        """
        UPDATE activity_app_versions AS v SET is_settled = true
        FROM unnest(
            \(unsettled.map(\.appVersion)), \(unsettled.map(\.isWithheld)), \(unsettled.map(\.decodesFrom))
        ) AS r(app_version, is_withheld, decodes_from)
        WHERE v.activity_key = \(lease.activityKey) AND v.app_version = r.app_version
          AND v.is_withheld = r.is_withheld AND v.decodes_from = r.decodes_from
        """
    }
}
