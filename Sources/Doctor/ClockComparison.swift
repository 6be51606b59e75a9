import APITypes
import Postgres
import ReportTypes
import Store

/// The database's clock beside this machine's.
struct ClockComparison: Sendable, Hashable {
    /// This machine's time before the question and after the answer.
    let asked: Instant
    let answered: Instant
    /// The database's, somewhere between.
    let database: Instant

    /// How far the database's clock is certainly ahead (or behind, below zero), in microseconds: what the way of the
    /// question may have taken is not counted.
    var skew: Int64 {
        if database > answered { return database.microseconds - answered.microseconds }
        if database < asked { return database.microseconds - asked.microseconds }
        return 0
    }

    var check: DoctorCheck {
        let distance = skew.magnitude / 1_000
        let words = "The database's clock is \(distance) ms \(skew < 0 ? "behind" : "ahead of") this machine's."
        switch distance {
        case ..<2_000:
            return DoctorCheck("clock", .ok, "database and daemon agree" + (distance == 0 ? "" : " to \(distance) ms"))
        case ..<60_000:
            return DoctorCheck("clock", .warning, words, advice: Self.advice)
        default:
            // Apple refuses provider tokens that are more than an hour off, and phones judge stale and dismissal dates.
            return DoctorCheck("clock", .broken, words, advice: Self.advice)
        }
    }

    private static let advice = "Look which of the two machines is wrong, and let both follow NTP."

    /// Asks the database for its time, also while all connections of the pool are in use.
    static func read(from database: Database) async throws -> ClockComparison {
        let asked = Instant.wallClock()
        let rows = try await database.look("SELECT clock_timestamp()", within: Examination.patience)
        let answered = Instant.wallClock()
        let time = try rows.single(PGTimestamp.self).map { Instant($0) }
        return ClockComparison(asked: asked, answered: answered, database: time ?? asked)
    }
}
