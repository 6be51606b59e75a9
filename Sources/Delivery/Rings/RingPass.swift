import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Store

/// The constants of a pass: the way from the cursor to the end of the lap, or of the ring.
struct RingPass: Sendable {
    let lease: SegmentLease
    /// How the ring stood before the pass.
    let progress: SegmentProgress
    var activity: ActivitySnapshot
    let change: ChangeToSend
    /// The revision of the alert that is carried around. It is news to cards that do not certainly have it. The other
    /// cards joined the ring later, or were served by their own row.
    let alert: Revision?
    /// The device key of the last destination; nil: to the end of the ring.
    let through: Int64?
    /// The number of pushes after which the pass ends, so that the ring can be divided; nil: the ring is not to be
    /// divided.
    let mostPushes: Int?

    /// Pushes that have left and are not stored at most: those of all rings of the activity are a batch together.
    var windowSize: Int { max(RingWalk.batchSize / progress.rings, 2 * RingWalk.smallestPart) }
    /// How many leave under one look.
    var sliceSize: Int { activity.batch(TokenPushes.sliceSize) }
    /// The number of answered pushes after which the cursor is stored again.
    var partSize: Int { max(windowSize / 4, RingWalk.smallestPart) }
}

/// The result of checking whether the next slice may leave.
struct RingLook: Sendable {
    /// Whether more may leave.
    let mayGoOn: Bool
    /// Whether the segment has work apart from the walk.
    let hasOtherWork: Bool
}

extension SegmentStore {
    /// Checks whether the walk may continue. Each slice leaves after a check of its own (promise 5).
    ///
    /// It may not when the change needs a fresh stamp, or was given one.
    ///
    /// `seekingDue`: as in ``RingLook/selection(_:isFirst:seekingDue:)``.
    ///
    /// - Throws: ``LeaseLost``.
    func look(ahead pass: RingPass, seekingDue: Bool) async throws -> RingLook {
        try await prolonging(pass.lease) {
            // Planning takes three times as long as the rest.
            let results = try await database.pipeline([
                .planningOnce, RingLook.selection(pass, isFirst: false, seekingDue: seekingDue),
            ])
            return try RingLook(results[1])
        }
    }
}

extension RingLook {
    /// The statement whose rows ``init(_:)`` reads.
    ///
    /// `seekingDue`: whether cards that are due by now count as other work. If many were due a moment ago, the look for one
    /// skips their index entries. So not every look asks for it.
    static func selection(_ pass: RingPass, isFirst: Bool, seekingDue: Bool) -> Query {
        """
        SELECT (a.revision = \(pass.activity.newest) OR (\(isFirst) AND a.state = 'live'))
                   AND c.timestamp = \(pass.change.timestamp)
                   AND \(unescaped: ChangeStore.isInOrder)
                   AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge))
                   AND (\(pass.activity.isProbe) OR \(unescaped: SegmentStore.isNotHalted)),
               s.wakes <> \(pass.progress.wakes) OR (\(seekingDue) AND \(unescaped: DueCards.exist))
        FROM segments AS s JOIN activities AS a USING (activity_key)
        JOIN changes AS c ON c.activity_key = s.activity_key AND c.revision = \(pass.change.revision)
        WHERE s.activity_key = \(pass.lease.activityKey) AND s.segment = \(pass.lease.segment)
          AND s.lease_owner = \(pass.lease.owner)::uuid AND s.lease_until > clock_timestamp()
        """
    }

    /// - Throws: ``LeaseLost``.
    init(_ rows: Rows) throws {
        guard let row = rows.first else { throw LeaseLost() }
        self.init(mayGoOn: try row.decode(at: 0), hasOtherWork: try row.decode(at: 1))
    }
}
