import Cards
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

    func run() async throws {
        let key = lease.activityKey
        let rows = try await room.database.query(AppVersionRows.unsettled(of: key, ring: lease.segment))
        let unsettled = try rows.decoded(as: (String, Bool, Int64).self).map(AppVersionRows.Unsettled.init)
        guard !unsettled.isEmpty else { return }
        try await eachPage(after: range.after) { after, limit in
            let alignment = CardVersions.alignment(
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
        try await room.segments.store(
            [AppVersionRows.settlement(unsettled, of: key, ring: lease.segment)],
            under: lease
        )
    }

    private func startAgain() async throws {
        try await eachPage(after: 0) { after, limit in
            let again = CardVersions.startsAgain(unsettledOf: lease.activityKey, after: after, limit: limit)
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
}
