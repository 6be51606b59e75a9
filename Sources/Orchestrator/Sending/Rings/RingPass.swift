import ActivityModel
import Postgres

/// What stays the same on the way from the cursor to where the lap, or the ring, ends.
struct RingPass: Sendable {
    let lease: SegmentLease
    /// How the ring stood before the pass.
    let progress: SegmentProgress
    let activity: ActivitySnapshot
    let change: ChangeToSend
    /// The revision of the alert that is carried around. It is news to those that do not certainly have it: the others
    /// joined the ring later, or were served by their own row.
    let alert: Revision?
    /// The device key of the last destination; nil: to the end of the ring.
    let through: Int64?
    /// After so many pushes the pass ends, for the ring to be divided; nil if it is not to be.
    let mostPushes: Int?

    /// Pushes that have left and are not stored at most: those of all rings of the activity are a batch together.
    var windowSize: Int { max(RingWalk.batchSize / progress.rings, 2 * RingWalk.smallestPart) }
    /// The cursor is stored when so many pushes more were answered.
    var partSize: Int { max(windowSize / 4, RingWalk.smallestPart) }
}

/// What a walk finds when it looks for the next slice.
struct RingLook: Sendable {
    /// Whether more may leave. If not, nothing was read.
    let mayGoOn: Bool
    /// Whether the segment has work apart from the walk.
    let hasOtherWork: Bool
    let slice: RingSlice
}

extension SegmentStore {
    /// Looks whether the walk may go on, and reads the next slice if so: the look and the destinations are of one moment,
    /// and no destination leaves under an older look than that of its slice (promise 5).
    ///
    /// It may not go on either when the change needs a fresh stamp, or was given one. Of a pass that `isFirst` a newer
    /// change than the one that it has turned to a moment ago is no hindrance unless it is the end: changes may come faster
    /// than a walk can turn.
    ///
    /// - Throws: ``LeaseLost``.
    func look(ahead pass: RingPass, after cursor: Int64, isFirst: Bool) async throws -> RingLook {
        let (key, revision, range) = (pass.lease.activityKey, pass.change.revision, pass.progress.range)
        let statement: Query = """
            WITH m AS MATERIALIZED (
                SELECT (a.revision = \(pass.activity.newest) OR (\(isFirst) AND a.state = 'live'))
                           AND c.timestamp = \(pass.change.timestamp)
                           AND \(unescaped: ChangeStore.isInOrder)
                           AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge))
                           AND (\(pass.activity.isProbe) OR \(unescaped: Self.isNotHalted)) AS may_go_on,
                       s.wakes <> \(pass.progress.wakes) OR EXISTS (
                           SELECT FROM subscriptions AS d WHERE d.activity_key = s.activity_key AND d.mode = 'token'
                             AND d.state = 'due' AND d.due_at <= now()
                             AND d.device_key > s.after_key AND d.device_key <= s.through_key
                       ) AS has_other_work
                FROM segments AS s JOIN activities AS a USING (activity_key)
                JOIN changes AS c ON c.activity_key = s.activity_key AND c.revision = \(revision)
                WHERE s.activity_key = \(key) AND s.segment = \(pass.lease.segment)
                  AND s.lease_owner = \(pass.lease.owner)::uuid AND s.lease_until > clock_timestamp()
            )
            SELECT m.may_go_on, m.has_other_work, d.*
            FROM m LEFT JOIN LATERAL (
                SELECT \(unescaped: RingSlice.columns), coalesce(known_revision < \(pass.alert), false)
                FROM subscriptions
                WHERE m.may_go_on AND activity_key = \(key) AND mode = 'token' AND state = 'riding'
                  AND device_key > \(max(cursor, range.after)) AND device_key <= \(min(pass.through ?? .max, range.through)) AND known_revision < \(revision)
                -- A constant: a plan for any number of rows would sort them.
                ORDER BY device_key LIMIT \(unescaped: "\(pass.activity.batch(TokenPushes.sliceSize))")
            ) AS d ON true
            """
        // Planning takes three times as long as the rest.
        guard let rows = try await database.pipeline([.planningOnce, statement]).last, let first = rows.first else {
            throw LeaseLost()
        }
        var slice = RingSlice()
        if try first.decode(Int64?.self, at: 2) != nil {
            for row in rows.indices { try slice.append(row, at: 2, of: rows) }
        }
        return RingLook(mayGoOn: try first.decode(at: 0), hasOtherWork: try first.decode(at: 1), slice: slice)
    }
}
