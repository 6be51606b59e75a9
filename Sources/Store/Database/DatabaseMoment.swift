import Postgres

/// A moment on the database's clock and on this machine's, by which what happened here gets the database's time.
struct DatabaseMoment: Sendable {
    private let database: PGTimestamp
    private let here: ContinuousClock.Instant

    /// Asks a few times and believes the quickest answer: it was given halfway between question and answer, give or
    /// take half of the time that they took. `now`: this machine's clock.
    static func read(
        on connection: PostgresConnection,
        by now: () -> ContinuousClock.Instant = { .now }
    ) async throws -> DatabaseMoment {
        var best: (moment: DatabaseMoment, took: Duration)?
        // By a clock that stands still, the first answer is the quickest.
        for _ in 0..<3 where best?.took != Duration.zero {
            let asked = now()
            let rows = try await connection.query(DatabaseClock.selection)
            let took = asked.duration(to: now())
            guard let database = try rows.single(PGTimestamp.self), best.map({ took < $0.took }) ?? true else {
                continue
            }
            best = (DatabaseMoment(database: database, here: asked + took / 2), took)
        }
        guard let best else { throw NoMoment() }
        return best.moment
    }

    /// The database's time of something that happened here.
    func time(of instant: ContinuousClock.Instant) -> PGTimestamp {
        let age = instant.duration(to: here) / .microseconds(1)
        return PGTimestamp(microseconds: database.microseconds - Int64(age))
    }

    /// A statement that always gives one row gave none.
    private struct NoMoment: Error {}
}
