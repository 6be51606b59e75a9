package import Postgres

/// The database's clock for those who ask often: it is read every few seconds, and this machine's clock counts on from
/// there.
///
/// Who sets the database's clock is believed after three seconds.
package final class DatabaseClock: Sendable {
    /// There is one moment to remember.
    private enum Place { case only }

    private let database: Database
    private let moments: ExpiringCache<Place, DatabaseMoment>
    private let here: @Sendable () -> ContinuousClock.Instant

    /// The statement that reads the database's clock, alone or among others.
    package static var selection: Query { "SELECT clock_timestamp()" }

    /// - Parameters:
    ///   - database: Whose clock it is.
    ///   - now: This machine's clock.
    package init(
        database: Database,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        self.database = database
        here = now
        moments = ExpiringCache(lifetime: .seconds(3), limit: 1, now: now)
    }

    /// The time of the database.
    package func now() async throws -> PGTimestamp {
        if case .fresh(let moment) = moments.lookUp(.only) { return moment.time(of: here()) }
        let generation = moments.generation
        let moment = try await database.withConnection { try await DatabaseMoment.read(on: $0, by: here) }
        moments.store(moment, for: .only, lookedUpIn: generation)
        return moment.time(of: here())
    }
}
