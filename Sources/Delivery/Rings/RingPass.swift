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

extension RingPass {
    /// The statement that checks whether the walk may begin or continue; ``RingLook`` reads its rows.
    ///
    /// `seekingDue`: whether cards that are due by now count as other work. If many were due a moment ago, the look for one
    /// skips their index entries. So not every look asks for it.
    func look(isFirst: Bool, seekingDue: Bool) -> Query {
        RingLook.selection(
            lease,
            with: activity,
            change,
            wakes: progress.wakes,
            isFirst: isFirst,
            seekingDue: seekingDue
        )
    }

    /// The statement that reads the next destinations of the pass behind a device key.
    func selection(after key: Int64, count: Int) -> Query {
        let range = progress.range
        return RingSlice.selection(
            of: lease.activityKey,
            in: RingRange(after: max(key, range.after), through: min(through ?? .max, range.through)),
            without: change.revision,
            alert: alert,
            limit: count
        )
    }
}

extension SegmentStore {
    /// Checks whether the walk may continue. Each slice leaves after a check of its own (promise 5).
    ///
    /// It may not when the change needs a fresh stamp, or was given one.
    ///
    /// `seekingDue`: as in ``RingPass/look(isFirst:seekingDue:)``.
    ///
    /// - Throws: ``LeaseLost``.
    func look(ahead pass: RingPass, seekingDue: Bool) async throws -> RingLook {
        try await prolonging(pass.lease) {
            // Planning takes three times as long as the rest.
            let results = try await database.pipeline([
                .planningOnce, pass.look(isFirst: false, seekingDue: seekingDue),
            ])
            return try RingLook(results[1])
        }
    }
}
