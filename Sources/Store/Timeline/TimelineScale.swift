import Postgres

/// Knows whether an activity is small enough for a row per push, by asking the database now and then.
package struct TimelineScale: Sendable {
    /// Up to so many destinations each push has a row of its own.
    package static let few = 1_000
    /// A batch of so many may have made a small activity a large one.
    private static let growth = 100

    private let database: Database
    private let known = ExpiringCache<Int64, Bool>(lifetime: .seconds(60), limit: 100_000) { ContinuousClock().now }

    init(database: Database) {
        self.database = database
    }

    /// `batch`: how many destinations of the activity are about to be sent to.
    func isSmall(_ activityKey: Int64, batch: Int) async throws -> Bool {
        if case .fresh(let isSmall) = known.lookUp(activityKey), !isSmall || batch < Self.growth { return isSmall }
        let generation = known.generation
        let rows = try await database.query(
            """
            SELECT (SELECT count(*) FROM (SELECT FROM subscriptions WHERE activity_key = \(activityKey) LIMIT \(Self.few + 1)) AS s)
                <= \(Self.few)
               AND (SELECT count(*) FROM (SELECT FROM starts WHERE activity_key = \(activityKey) LIMIT \(Self.few + 1)) AS s)
                <= \(Self.few)
            """
        )
        let isSmall = try rows.single(Bool.self) ?? true
        known.store(isSmall, for: activityKey, lookedUpIn: generation)
        return isSmall
    }
}
