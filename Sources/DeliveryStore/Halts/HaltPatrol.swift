import ActivityModel
import Cards
import Logging
import Postgres
import ServiceLifecycle
import Store

/// Tells this daemon what is halted, and sees to it that a probe finds something to send when its time has come.
struct HaltPatrol: Service, CustomStringConvertible {
    let work: DeliveryStore

    private static let interval = Duration.seconds(1)

    var description: String { "halt-patrol" }

    func run() async {
        let dueWork = work.dueWork
        // To lift a halt may take minutes, and may fail: the other halts are probed meanwhile.
        async let lifting: Void = repeating("lift halts", every: Self.interval, logger: work.store.logger) {
            if dueWork.isDue(.halts) { try await work.halts.goOnLifting() }
        }
        await repeating("look after halts", every: Self.interval, logger: work.store.logger) {
            try await work.halts.share()
            if dueWork.isDue(.halts) || work.halts.knowsAny { try await look() }
        }
        await lifting
    }

    /// Wakes one ring per halt whose probe is due, and lets all others rest. It is a ring with a rejected token, else
    /// of an activity with a start that waits for a rejected token, else any that has something to send. The token that was
    /// rejected first comes first. A token that a probe has tried comes last the next time. So later probes do not meet
    /// the same few tokens, which may be the only bad ones.
    func look() async throws {
        let rows = try await work.database.query(
            """
            WITH h AS MATERIALIZED (
                -- Decided once: else every suspect is read to compare it with the clock.
                SELECT *, probe_at <= clock_timestamp() AND lifting IS NULL AS is_due FROM sending_halts
            )
            SELECT h.bundle_id, h.environment::text,
                   coalesce(card.activity_key, start.activity_key, ring.activity_key), coalesce(card.device_key, ring.through_key)
            FROM h
            LEFT JOIN LATERAL (
                SELECT s.activity_key, s.device_key FROM subscriptions AS s JOIN activities AS a USING (activity_key)
                WHERE h.is_due AND s.state = 'rejected'
                  AND \(unescaped: StandingHalt.isSuspect("s.rejected_at", since: "h.suspect_from"))
                  AND a.bundle_id = h.bundle_id AND a.environment = h.environment
                  AND (a.state = 'live' OR a.ended_at > clock_timestamp() - \(CardLife.longest))
                ORDER BY s.rejected_at LIMIT 1
            ) AS card ON true
            LEFT JOIN LATERAL (
                SELECT a.activity_key FROM start_tokens AS t JOIN starts AS s USING (device_key)
                JOIN activities AS a ON a.activity_key = s.activity_key AND a.type_name = t.type_name
                WHERE h.is_due AND card.activity_key IS NULL
                  AND t.state = 'rejected' AND \(unescaped: StandingHalt.isSuspect("t.rejected_at", since: "h.suspect_from"))
                  AND \(unescaped: StartRows.waitsForToken("s"))
                  AND a.bundle_id = h.bundle_id AND a.environment = h.environment AND a.state = 'live'
                ORDER BY t.rejected_at LIMIT 1
            ) AS start ON true
            LEFT JOIN LATERAL (
                SELECT g.activity_key, g.through_key FROM segments AS g JOIN activities AS a USING (activity_key)
                WHERE h.is_due AND card.activity_key IS NULL AND start.activity_key IS NULL
                  AND g.segment >= 0 AND g.due_at IS NOT NULL
                  AND a.bundle_id = h.bundle_id AND a.environment = h.environment
                ORDER BY g.due_at LIMIT 1
            ) AS ring ON true
            -- They are woken in one transaction, so in the order in which everybody locks segments.
            ORDER BY 3
            """
        )
        var halted: Set<HaltScope> = []
        var statements: [Query] = []
        for (app, environment, key, device) in try rows.decoded(as: (String, String, Int64?, Int64?).self) {
            halted.insert(HaltScope(app: BundleID(stored: app), environment: try .stored(environment)))
            if let key { statements.append(SegmentRows.wake(activityKey: key, ringOf: device)) }
        }
        work.halts.notice(halted)
        guard !statements.isEmpty else { return }
        _ = try await work.database.pipeline(statements)
        work.wakeUps.signal()
    }
}
