import Postgres
import ReportTypes

/// A session of the database server that others of Tally wait for.
struct BlockingSession: Sendable, Equatable {
    /// Zero for a prepared transaction, which no session has.
    let processID: Int32
    let user: String?
    let program: String?
    /// How long its transaction is open; nil if Tally's role may not see it.
    let openFor: Duration?
    /// How many sessions of Tally wait for it, and the longest of them for how long.
    let waiting: Int64
    let waitingFor: Duration

    /// A wait that is no longer is part of every day.
    static let patience = Duration.seconds(2)
    /// More sessions that wait are not looked at, and no more that block are named.
    private static let (mostWaiting, mostNamed) = (50, 5)

    /// Reads them on the connection that nothing else uses: those of the pool may be what waits.
    ///
    /// A session that itself waits for another is not told: the other one is.
    static func read(from database: Database) async throws -> [BlockingSession] {
        let rows = try await database.look(
            """
            SELECT p.pid, b.usename::text, nullif(b.application_name, ''),
                   extract(epoch FROM clock_timestamp() - max(b.xact_start))::float8,
                   count(*), extract(epoch FROM clock_timestamp() - min(w.query_start))::float8 AS longest
            FROM (
                SELECT pid, query_start FROM pg_stat_activity
                WHERE datname = current_database() AND usename = current_user AND wait_event_type = 'Lock'
                  AND query_start < clock_timestamp() - \(patience)
                ORDER BY query_start LIMIT \(mostWaiting)
            ) AS w
            CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(w.pid)) AS pid) AS p
            LEFT JOIN pg_stat_activity AS b ON b.pid = p.pid
            WHERE b.wait_event_type IS DISTINCT FROM 'Lock'
            GROUP BY p.pid, b.usename, b.application_name ORDER BY longest DESC LIMIT \(mostNamed)
            """,
            within: Examination.patience
        )
        return try rows.decoded(as: (Int32, String?, String?, Double?, Int64, Double).self).map {
            processID,
            user,
            program,
            open,
            waiting,
            longest in
            BlockingSession(
                processID: processID,
                user: user,
                program: program,
                openFor: open.map { .seconds($0) },
                waiting: waiting,
                waitingFor: .seconds(longest)
            )
        }
    }

    var check: DoctorCheck {
        let sessions = waiting == 1 ? "A session of Tally waits" : "\(waiting) sessions of Tally wait"
        let finding = "\(sessions) for a lock of \(holder), the longest for \(Self.text(waitingFor))."
        let advice =
            processID == 0
            ? "pg_prepared_xacts lists it: COMMIT PREPARED or ROLLBACK PREPARED ends it."
            : "Let it end, or end it as a superuser or its own role: `SELECT pg_terminate_backend(\(processID))` "
                + "(docs/guides/on-call.md#tallydatabaseslow)."
        let subject = processID == 0 ? "prepared transaction" : "process \(processID)"
        let isLong = waitingFor >= Examination.patience
        return DoctorCheck("database_locks", of: subject, isLong ? .broken : .warning, finding, advice: advice)
    }

    private var holder: String {
        guard processID != 0 else { return "a prepared transaction" }
        let place = program.map { " (\($0))" } ?? ""
        let age = openFor.map { ", whose transaction is open for \(Self.text($0))" } ?? ""
        return "process \(processID) of the role \(user ?? "?")\(place)\(age)"
    }

    private static func text(_ time: Duration) -> String { "\(Int(time / .seconds(1))) s" }
}

extension Examination {
    /// Who holds a lock that Tally waits for. Nothing is said if nobody does, which is nearly always.
    func lockChecks() async -> [DoctorCheck] {
        guard installation else { return [] }
        do {
            return try await BlockingSession.read(from: database).map(\.check)
        } catch let error as PostgresError where [.unreachable, .closed, .cancelled].contains(error.code) {
            return []
        } catch {
            return [Self.unanswered("database_locks", error)]
        }
    }

    /// The same while the examination's own questions wait, if they do for so long.
    func lateLockChecks() async -> [DoctorCheck] {
        do { try await Task.sleep(for: BlockingSession.patience + .seconds(1)) } catch { return [] }
        return await lockChecks()
    }
}
