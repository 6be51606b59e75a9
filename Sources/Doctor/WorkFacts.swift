import APITypes
import Postgres
import ReportTypes
import Store

/// How the work stands: who is at it, and how long something has been waiting.
struct WorkFacts: Sendable {
    /// Segments and sweeps that a daemon works on now.
    var held: Int64 = 0
    /// Those whose lease has run out although there is work: their daemon is gone, and no other has taken over.
    var stale: Int64 = 0
    /// Segments whose work has failed again and again. Where Apple does not make the channel, ``ChannelTrouble`` tells of it.
    var failing: Int64 = 0
    /// For how many seconds the oldest work of each kind has been due without being taken up.
    var waiting: [Kind: Double] = [:]

    /// What may be due.
    enum Kind: String, Sendable, CaseIterable {
        case segment, schedule, push, event
        case channelDeletion = "channel_deletion"

        fileprivate var words: String {
            switch self {
            case .segment: "a segment's pushes"
            case .schedule: "a schedule"
            case .push: "an ordinary push"
            case .event: "an event that nobody may read yet"
            case .channelDeletion: "a channel's deletion"
            }
        }

        fileprivate var advice: String {
            switch self {
            case .event:
                // Readers stop below the oldest transaction that still runs, so that nothing appears behind them.
                "A transaction that writes has been open on the database server for so long, of Tally or of others: "
                    + "pg_stat_activity shows it (backend_xid), pg_terminate_backend ends it. Prepared ones are in pg_prepared_xacts."
            default:
                "If sending is halted, see there. Else look at the load and the log of the daemons; more daemons share the work."
            }
        }
    }

    /// So many failures in a row are no accident.
    static let manyFailures: Int64 = 5
    /// How long work may wait before it is worth a word, and before promises are broken.
    private static let (patience, limit) = (10.0, 60.0)

    var checks: [DoctorCheck] { [leaseCheck, dueCheck] + failureChecks }

    private var leaseCheck: DoctorCheck {
        guard stale > 0 else { return DoctorCheck("leases", .ok, "\(held) held, none left behind") }
        let finding = "\(stale) leases have run out with work left, and nobody has taken it over; \(held) are held."
        let advice = "Look whether a daemon runs and what it logs: one takes over within seconds."
        return DoctorCheck("leases", .broken, finding, advice: advice)
    }

    /// None if all is well: few installations ever see it.
    private var failureChecks: [DoctorCheck] {
        guard failing > 0 else { return [] }
        let finding = "The work of \(failing) segments has failed \(Self.manyFailures) times in a row or more."
        let advice =
            "Look in the logs of all daemons for 'segment failed', and run tally doctor against each: a daemon with "
            + "another TALLY_MASTER_KEY fails what it takes. Else APNs is away or refuses the key."
        return [DoctorCheck("failing_work", .warning, finding, advice: advice)]
    }

    private var dueCheck: DoctorCheck {
        guard let oldest = waiting.max(by: { $0.value < $1.value }), oldest.value > 0 else {
            return DoctorCheck("due_work", .ok, "nothing is waiting")
        }
        let seconds = Int(oldest.value)
        guard oldest.value >= Self.patience else {
            return DoctorCheck("due_work", .ok, "the oldest, \(oldest.key.words), is due for \(seconds) s")
        }
        return DoctorCheck(
            "due_work",
            oldest.value >= Self.limit ? .broken : .warning,
            "The oldest due work, \(oldest.key.words), has been waiting for \(seconds) s.",
            advice: oldest.key.advice
        )
    }
}

extension WorkFacts {
    /// Reads them, of one app or of all.
    static func read(app: String?, from database: Database) async throws -> WorkFacts {
        let answers = try await database.pipeline(
            [
                // Of segments there are as many as of activities for a month; what is leased stays due meanwhile.
                """
                SELECT count(*) FILTER (WHERE \(unescaped: SegmentRows.isLeased("s"))),
                       count(*) FILTER (WHERE s.lease_until < clock_timestamp() - interval '2 seconds'
                                          AND s.due_at < clock_timestamp()),
                       coalesce(max(extract(epoch FROM clock_timestamp() - greatest(s.due_at, s.lease_until)))
                           FILTER (WHERE s.due_at < clock_timestamp()
                               AND (s.lease_until IS NULL OR s.lease_until < clock_timestamp())), 0)::float8,
                       count(*) FILTER (WHERE s.failures >= \(Self.manyFailures)
                           AND NOT (s.segment = \(SegmentRows.channelSegment) AND EXISTS (
                               SELECT FROM channels AS c WHERE c.activity_key = s.activity_key
                                 AND \(unescaped: ChannelStanding.isAwaited("c")) AND c.reason IS NOT NULL OFFSET 0
                           )))
                FROM segments AS s JOIN activities AS a USING (activity_key)
                WHERE s.due_at IS NOT NULL AND (\(app)::text IS NULL OR a.bundle_id = \(app))
                """,
                """
                SELECT coalesce(max(extract(epoch FROM clock_timestamp() - greatest(s.due_at, s.lease_until))), 0)::float8
                FROM schedules AS s JOIN activities AS a USING (activity_key)
                WHERE s.state = 'pending' AND s.due_at < clock_timestamp()
                  AND (s.lease_until IS NULL OR s.lease_until < clock_timestamp())
                  AND (\(app)::text IS NULL OR a.bundle_id = \(app))
                """,
                """
                SELECT coalesce(max(extract(epoch FROM clock_timestamp() - c.delete_at)), 0)::float8 FROM channels AS c
                WHERE c.delete_at < clock_timestamp() AND \(unescaped: ChannelStanding.awaitsDeletion("c"))
                  AND (\(app)::text IS NULL OR c.bundle_id = \(app))
                """,
                """
                SELECT coalesce(max(extract(epoch FROM clock_timestamp() - p.due_at)), 0)::float8 FROM pushes AS p
                WHERE p.due_at < clock_timestamp() AND (\(app)::text IS NULL OR p.bundle_id = \(app))
                """,
                """
                SELECT coalesce(max(extract(epoch FROM clock_timestamp() - at)), 0)::float8 FROM (
                    SELECT at FROM events AS e
                    WHERE e.transaction_id >= \(unescaped: EventVisibility.bound)
                      AND (\(app)::text IS NULL OR e.bundle_id = \(app))
                    UNION ALL
                    SELECT c.accepted_at FROM changes AS c JOIN activities AS a USING (activity_key)
                    WHERE c.transaction_id >= \(unescaped: EventVisibility.bound)
                      AND (\(app)::text IS NULL OR a.bundle_id = \(app))
                ) AS withheld (at)
                """,
            ],
            timeout: Examination.patience
        )
        var facts = WorkFacts()
        if let (held, stale, seconds, failing) = try answers[0].first(as: (Int64, Int64, Double, Int64).self) {
            (facts.held, facts.stale, facts.failing) = (held, stale, failing)
            facts.waiting[.segment] = seconds
        }
        facts.waiting[.schedule] = try answers[1].single(Double.self) ?? 0
        facts.waiting[.channelDeletion] = try answers[2].single(Double.self) ?? 0
        facts.waiting[.push] = try answers[3].single(Double.self) ?? 0
        facts.waiting[.event] = try answers[4].single(Double.self) ?? 0
        return facts
    }
}
