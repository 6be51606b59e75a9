import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Registry
import Store

/// A start that this worker may send, or an alert to replace it.
struct ClaimedStart: Sendable {
    let deviceKey: Int64
    /// The start as its claim was stored.
    let machine: StartStateMachine
    /// Tells this claim from a later one of the same start.
    let claimedAt: PGTimestamp
    /// Nil if an alert replaces the start.
    let token: PushToken?
    let capability: DeviceCapability
    /// The token for ordinary pushes to the device.
    let deviceToken: PushToken?
    let frequent: Bool
    /// Whether its card takes the place of an older one (``Continuations``).
    let isContinuation: Bool
}

/// Claims starts by row before they leave, in one transaction that locks them, their devices and the activity.
///
/// The locks on devices make the start budget exact: two activities never spend the same unit of one phone. Skips
/// devices that another transaction has locked, so that claims never wait for a device.
///
/// Each claim reads anew whether its device is still there and in the audience. However long ago the start was made, a
/// device that was removed before the claim gets none.
struct StartClaims: Sendable {
    let room: DeliveryRoom
    let lease: SegmentLease
    let activity: ActivitySnapshot
    /// The delivery of the activity, or its substitute for now.
    let delivery: Delivery
    /// What the starts bring: the newest change when the worker looked.
    let change: ChangeToSend

    /// How many starts are claimed at once. A crash between claim and answer leaves so many in doubt.
    static let batchSize = 250

    struct Batch: Sendable {
        /// To be sent.
        var starts: [ClaimedStart] = []
        /// Starts that an alert replaces.
        var alerts: [ClaimedStart] = []
        /// How many were due and free, whatever was decided about them.
        var count = 0
        /// The last of these.
        var last: DueStart.Position?
        /// When the first of its claims may be repeated; nil if it has none.
        var repeatsAt: PGTimestamp?
    }

    /// Claims the next batch of starts that are due.
    ///
    /// - `last`: the end of the batch before. The server then need not walk over the index entries of earlier claims,
    ///   which stay until it has cleaned up. Starts before it that were locked are found from the beginning.
    /// - `limit`: when the first claim that is on its way may be repeated. A claim that may be repeated at once is due
    ///   while its push is on its way.
    /// - `isFirst`: a newer change stops this only if it is the end, as in
    ///   ``SegmentStore/mayGoOn(_:with:isFirst:)``. Such a change holds back a start only if nobody knows whether its
    ///   app decodes the older state. Otherwise constant updates would keep everyone from starting.
    ///
    /// - Returns: Nil if no start may leave now with this change: no start follows a committed end.
    /// - Throws: ``LeaseLost``; then nothing is claimed.
    func claim(behind last: DueStart.Position, before limit: PGTimestamp?, isFirst: Bool) async throws -> Batch? {
        try await room.segments.prolonging(lease) {
            try await room.registry.withCurrentType {
                let type = try await room.registry.typeContext(activity.bundleID, activity.typeName)
                return try await claim(type, behind: last, before: limit, isFirst)
            }
        }
    }

    private func claim(
        _ type: TypeContext,
        behind last: DueStart.Position,
        before limit: PGTimestamp?,
        _ isFirst: Bool
    ) async throws -> Batch? {
        try await room.database.withTransaction { connection in
            let locked = try await connection.pipeline([
                .planningOnce,
                SegmentStore.permission(lease, with: activity, isFirst: isFirst),
                TypeVersionRows.hold([type]),
                ChangeStore.holdLive(activity.key, sending: change),
                // Also the first plan, which is made while there are few starts, must not sort all starts of the activity.
                .unsorted(true),
                DueStart.lock(in: activity.key, behind: last, before: limit, limit: activity.batch(Self.batchSize)),
                .unsorted(false),
            ])
            guard try SegmentStore.mayGoOn(locked[1]) else { return nil }
            try type.check(TypeVersionRows.updates(locked[2]))
            guard let (newest, isFresh) = try locked[3].first(as: (Int64, Bool).self), isFresh else { return nil }
            let free = try locked[5].decoded(as: (Int64, PGTimestamp).self)
            guard let end = free.last else { return Batch() }
            // A second statement: what was spent on a device until it was locked is seen.
            let due = try await DueStart.read(free.map(\.0), in: activity, on: connection)
            var verdicts = StartVersions(
                activity,
                type,
                newest: newest,
                try await content(of: newest, on: connection)
            )
            var batch = Batch()
            batch.count = free.count
            batch.last = DueStart.Position(dueAt: end.1, deviceKey: end.0)
            var decisions: [StartRows.Decided] = []
            for start in due where try verdicts.knows(start.appVersion, start.decoding) {
                let (action, decision, claimed) = try decide(start, &verdicts)
                decisions.append(decision)
                switch action {
                case .start: batch.starts.append(claimed)
                case .alert: batch.alerts.append(claimed)
                case .wait, .rest: break
                }
            }
            batch.repeatsAt = decisions.filter(\.isClaim).compactMap(\.dueAt).min()
            let isOnChannel = batch.starts.contains { $0.capability == .withInputPushChannel }
            let decided = StartRows.decided(decisions, of: activity.key, newest: activity.newest)
            _ = try await connection.commit(
                [decided] + verdicts.statements + (isOnChannel ? [LateStarts.begin(of: activity)] : [])
            )
            return batch
        }
    }

    /// The state that what the apps can decode is judged for.
    private func content(of newest: Revision, on connection: PostgresConnection) async throws -> CompactJSON {
        guard newest != activity.newest else { return change.contentState }
        return try await ChangeStore.content(of: newest, in: activity.key, on: connection) ?? change.contentState
    }

    // MARK: What becomes of it

    /// When it is due again; nil: not as time passes.
    private func dueAt(_ action: StartStateMachine.DueAction, decidedAt now: PGTimestamp) -> PGTimestamp? {
        switch action {
        case .start, .alert:
            let retry = Int64(activity.policy.startRetrySeconds) * 1_000_000
            return PGTimestamp(microseconds: now.microseconds + retry)
        case .wait(let until): return until.map(PGTimestamp.init(microseconds:))
        case .rest: return nil
        }
    }

    /// - Returns: What to do, what to store of it, and what leaves if something does.
    private func decide(
        _ due: DueStart,
        _ versions: inout StartVersions
    ) throws -> (StartStateMachine.DueAction, StartRows.Decided, ClaimedStart) {
        let capability = DeviceCapability(
            osVersion: due.osVersion,
            activitiesEnabled: due.activitiesEnabled,
            delivery: delivery
        )
        var machine = due.machine
        let action = machine.isDue(
            isWanted: due.isWanted,
            isReported: due.isReported,
            obstacle: try obstacle(due, capability, &versions),
            // A device with a card needs no alert to replace it.
            mayAlert: activity.policy.fallbackAlert && due.deviceToken != nil && !due.isContinuation
        )
        let claimed = ClaimedStart(
            deviceKey: due.deviceKey,
            machine: machine,
            claimedAt: due.now,
            token: due.token,
            capability: capability,
            deviceToken: due.deviceToken,
            frequent: due.frequent,
            isContinuation: due.isContinuation
        )
        let decision = StartRows.Decided(
            deviceKey: due.deviceKey,
            machine: machine,
            isClaim: action == .start || action == .alert,
            now: due.now,
            dueAt: dueAt(action, decidedAt: due.now)
        )
        return (action, decision, claimed)
    }

    private func obstacle(
        _ due: DueStart,
        _ capability: DeviceCapability,
        _ versions: inout StartVersions
    ) throws -> StartStateMachine.Obstacle? {
        try .first(
            capability: capability,
            isDecodable: versions.mayStart(
                due.appVersion,
                due.decoding,
                onChannel: capability == .withInputPushChannel
            ),
            hasToken: due.token != nil,
            budgetUntil: due.spending.wait(under: activity.policy.startBudget, now: due.now.microseconds)
        )
    }
}
