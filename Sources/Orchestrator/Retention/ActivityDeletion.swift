import ActivityModel
import Cards
import Channels
import DeliveryStore
import Postgres
import Registry
import Store

/// Deletes a few ended activities in one transaction, and only a part of those with many devices.
///
/// The transaction is short, because readers of events stop below the oldest that still runs. It waits for no row: what
/// others hold is left. Events, the timeline and the audit log name activities without
/// referring to them, and go by their own age.
struct ActivityDeletion: Sendable {
    /// Why they go.
    enum Cause {
        /// They ended so long ago, and have nothing left to do or to count.
        case age(Duration)
        /// Their app is being deleted.
        case app(BundleID)
    }

    let cause: Cause
    /// The place up to which activities were checked.
    let after: Place

    /// A place in the order in which activities ended.
    struct Place: Sendable, Equatable {
        let endedAt: PGTimestamp
        let activityKey: Int64

        static let oldest = Place(endedAt: PGTimestamp(microseconds: 0), activityKey: 0)
    }

    struct Outcome: Sendable {
        /// Activities that are gone.
        var deleted = 0
        /// The place to resume at; nil if the work is finished.
        var next: Place?
        /// Some may be deleted, but somebody held them or rows of theirs. A look in a moment finds them free.
        var isHeld = false
    }

    /// Activities looked at in one transaction.
    static let batchSize = 200
    /// Rows deleted from one table in one transaction.
    static let rowLimit = 2_000

    func run(on connection: PostgresConnection) async throws -> Outcome {
        guard try await takeTurn(on: connection) else { return Outcome() }
        // While one activity has nearly all rows of a table, the planner takes reading all of it for the short way.
        _ = try await connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        let found = try await look(on: connection)
        guard let last = found.last else { return Outcome() }
        let next = found.count == Self.batchSize ? last.place : nil
        let keys = found.filter(\.isFree).map(\.place.activityKey)
        let isHeld = found.contains { $0.mayGo && !$0.isFree }
        guard !keys.isEmpty else { return Outcome(next: next, isHeld: isHeld) }
        let results = try await connection.pipeline(
            Self.parts.map { $0.deletion(of: keys, limit: Self.rowLimit) } + [deletion(of: keys)]
        )
        let isPartial = results.dropLast().contains { $0.affectedRows == Self.rowLimit }
        let deleted = results.last?.affectedRows ?? 0
        return Outcome(
            deleted: deleted,
            next: isPartial ? after : next,
            isHeld: isHeld || (!isPartial && deleted < keys.count)
        )
    }

    /// One transaction at a time. Old activities can wait until another daemon is done; those of a deleted app cannot.
    private func takeTurn(on connection: PostgresConnection) async throws -> Bool {
        let key = "hashtextextended('tally/retention', 0)"
        switch cause {
        case .age:
            let rows = try await connection.query("SELECT pg_try_advisory_xact_lock(\(unescaped: key))")
            return try rows.single(Bool.self) == true
        case .app:
            _ = try await connection.query("SELECT pg_advisory_xact_lock(\(unescaped: key))")
            return true
        }
    }

    // MARK: Which

    /// How long ago they ended, and whose they are; nil: anybody's.
    private var limits: (age: Duration, app: BundleID?) {
        switch cause {
        case .age(let age): (age, nil)
        case .app(let app): (.zero, app)
        }
    }

    private struct Found {
        let place: Place
        let mayGo: Bool
        /// It may go, and is locked for this transaction.
        let isFree: Bool
    }

    /// Locks those that may go; the lock keeps late reports of phones from adding to them.
    private func look(on connection: PostgresConnection) async throws -> [Found] {
        let (age, app) = limits
        let rows = try await connection.query(
            """
            WITH old AS MATERIALIZED (
                SELECT activity_key, ended_at FROM activities
                WHERE ended_at < now() - \(age) AND (\(app?.rawValue)::text IS NULL OR bundle_id = \(app?.rawValue))
                  AND (ended_at, activity_key) > (\(after.endedAt), \(after.activityKey))
                ORDER BY ended_at, activity_key LIMIT \(Self.batchSize)
            ), going AS MATERIALIZED (
                SELECT a.activity_key FROM old JOIN activities AS a USING (activity_key) WHERE \(unescaped: isFree)
            ), free AS MATERIALIZED (
                SELECT a.activity_key FROM going JOIN activities AS a USING (activity_key)
                ORDER BY a.activity_key FOR UPDATE OF a SKIP LOCKED
            )
            SELECT old.ended_at, old.activity_key, going.activity_key IS NOT NULL, free.activity_key IS NOT NULL
            FROM old LEFT JOIN going USING (activity_key) LEFT JOIN free USING (activity_key)
            ORDER BY old.ended_at, old.activity_key
            """
        )
        return try rows.decoded(as: (PGTimestamp, Int64, Bool, Bool).self).map { endedAt, key, mayGo, isFree in
            Found(place: Place(endedAt: endedAt, activityKey: key), mayGo: mayGo, isFree: isFree)
        }
    }

    /// An SQL condition: the activity `a` may go.
    private var isFree: String {
        switch cause {
        case .age: Self.isSettled
        case .app: Self.isLeft
        }
    }

    /// An SQL condition: nobody works on the activity `a`. Its end need not be sent any more: there are no keys to do
    /// it with.
    private static let isLeft = """
        NOT EXISTS (SELECT FROM segments AS s
                    WHERE s.activity_key = a.activity_key AND \(SegmentRows.isLeased("s")))
        """

    /// An SQL condition: nothing of the activity `a` is still to be done or to be counted.
    ///
    /// Its segments rest: they have sent the end, or given up. Its channels have been gone for so long that Apple's list
    /// does not show them any more. Its starts count in no phone's start budget.
    private static let isSettled = """
        NOT EXISTS (SELECT FROM segments AS s
                    WHERE s.activity_key = a.activity_key AND (s.due_at IS NOT NULL OR s.lease_owner IS NOT NULL))
        AND \(ActivitySnapshot.hasNoStartToSend)
        AND NOT EXISTS (SELECT FROM schedules AS s WHERE s.activity_key = a.activity_key AND s.state::text = 'pending' OFFSET 0)
        AND NOT EXISTS (SELECT FROM channels AS c
                        WHERE c.activity_key = a.activity_key AND NOT \(ChannelRows.isForgotten) OFFSET 0)
        AND a.ended_at < now() - coalesce((
            SELECT max(\(StoredPolicy.startBudgetWindow("p"))) FROM activity_types AS p
            WHERE p.bundle_id = a.bundle_id), interval '0')
        """

    /// An SQL condition: the channel `c` goes with its activity.
    private var isGone: String {
        switch cause {
        case .age: ChannelRows.isForgotten
        case .app: ChannelStanding.isGone("c")
        }
    }

    // MARK: What

    /// The tables that may have many rows for an activity, in the order of their deletion.
    private static let parts: [ActivityPart] =
        ActivityPart.cards + [.audienceMembers, .appVersions, .budgets, .schedules, .changes]

    /// Deletes the activities that have only a few rows left, and channels that are gone at Apple.
    private func deletion(of keys: [Int64]) -> Query {
        """
        WITH empty AS MATERIALIZED (
            SELECT a.activity_key FROM activities AS a
            WHERE a.activity_key = ANY(\(keys)) AND \(unescaped: isFree)
              AND \(unescaped: Self.parts.map(\.isEmpty).joined(separator: " AND "))
        ), freed AS (
            \(unescaped: ChannelRows.deletion(from: "empty", where: isGone))
        )
        \(unescaped: ActivityRows.deletion(from: "empty"))
        """
    }
}
