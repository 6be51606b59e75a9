import Postgres
import Store

/// An app version by which phones follow an activity.
package struct Follower: Sendable, Hashable {
    package let activityKey: Int64
    /// As the devices report it; empty for devices that report none.
    package let appVersion: String

    package init(activityKey: Int64, appVersion: String) {
        self.activityKey = activityKey
        self.appVersion = appVersion
    }
}

/// Finds app versions that nobody uses any more, so that they hold no new state back.
///
/// The intake asks before it accepts a state that phones of such a version could not decode. This reads page by page,
/// outside of any transaction: however large the audience is, nobody waits but the request that brought the state.
/// A phone that appears meanwhile is safe: what its app cannot decode is withheld from it.
package struct VersionUse: Sendable {
    let database: Database
    /// Devices that one statement looks at.
    let pageSize: Int
    /// The device at which a follower was found last. Looks begin there, so most read one row.
    let lastFollowers: ExpiringCache<Follower, Int64>

    /// The followers that nobody uses.
    ///
    /// - Throws: ``PostgresError``.
    package func unused(_ followers: [Follower]) async throws -> Set<Follower> {
        var unused: Set<Follower> = []
        for follower in Set(followers) where try await !isUsed(follower) { unused.insert(follower) }
        return unused
    }

    private func isUsed(_ follower: Follower) async throws -> Bool {
        let generation = lastFollowers.generation
        if let last = lastFollowers.lookUp(follower).value {
            let page = try await look(follower, after: last - 1, limit: 1)
            if page.isUsed { return true }
        }
        var after: Int64 = 0
        while true {
            let page = try await look(follower, after: after, limit: pageSize)
            if let found = page.follower { lastFollowers.store(found, for: follower, lookedUpIn: generation) }
            if page.isUsed { return true }
            guard let last = page.last, page.devices >= pageSize else { return false }
            after = last
        }
    }

    /// The findings in one page.
    private struct PageOfDevices {
        /// Whether there may be followers whom nobody has looked at yet.
        let isOpen: Bool
        let devices: Int64
        let last: Int64?
        let follower: Int64?

        var isUsed: Bool { isOpen || follower != nil }
    }

    private func look(_ follower: Follower, after deviceKey: Int64, limit: Int) async throws -> PageOfDevices {
        let rows = try await database.query(AppVersionRows.page(of: follower, after: deviceKey, limit: limit))
        // A deleted activity has no followers.
        let none = (false, Int64(0), Int64?.none, Int64?.none)
        let (isOpen, devices, last, found) = try rows.first(as: (Bool, Int64, Int64?, Int64?).self) ?? none
        return PageOfDevices(isOpen: isOpen, devices: devices, last: last, follower: found)
    }
}
