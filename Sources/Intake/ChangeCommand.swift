import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// One valid update or end that waits to be accepted.
///
/// A class, because many functions pass it on. A copy of a structure would retain each of its twenty parts.
final class ChangeCommand: Sendable {
    let activity: ActivityFacts
    let activityID: ActivityID
    let body: RequestedChange.Body
    /// The state that the change brings. Without one, an end repeats the newest state.
    let contentState: JudgedContent?
    let alert: AlertContent?
    let hints: CardHints
    /// The activity's type.
    let type: TypeContext
    /// How long Tally accepts it while the intake fills up.
    let weight: IntakeLimit.Weight
    /// Whether it goes before others in the intake.
    let isUrgent: Bool
    let idempotencyKey: IdempotencyKey?
    /// When it is to be accepted; nil: now.
    let at: Instant?
    /// The schedule that this runs, settled together with the change.
    let scheduleID: String?
    /// The request that brought it; nil if Tally itself made the change.
    let origin: RequestOrigin?
    /// The statements that put the request on record, committed with the change.
    let records: [Query]
    /// App versions that nobody uses any more (``VersionUse``): they hold the state back no longer.
    let unused: Set<Follower>

    init(
        _ change: RequestedChange,
        _ contentState: JudgedContent?,
        of activity: ActivityFacts,
        _ type: TypeContext,
        unused: Set<Follower> = []
    ) {
        self.unused = unused
        self.activity = activity
        activityID = change.id
        body = change.body
        self.contentState = contentState
        self.type = type
        weight = change.weight(by: type.policy)
        isUrgent = change.isUrgent
        switch change.body {
        case .update(let request):
            alert = request.alert
            hints = CardHints(request)
        case .end(let request):
            alert = request.alert
            hints = CardHints()
        }
        idempotencyKey = change.idempotencyKey?.key
        at = change.at
        scheduleID = change.scheduleID
        origin = change.origin
        records = change.records
    }

    /// The same command of the same request, for which these app versions hold nothing back.
    func knowing(unused: Set<Follower>, _ change: RequestedChange) -> ChangeCommand {
        let own = unused.filter { $0.activityKey == activity.key }
        return own.isEmpty ? self : ChangeCommand(change, contentState, of: activity, type, unused: own)
    }

    var policy: Policy { type.policy }

    /// When the event of an update happened.
    var eventTime: Instant? {
        if case .update(let request) = body { request.eventTime } else { nil }
    }
}

/// A change as it is written.
struct ChangeToStore: Sendable {
    let activityKey: Int64
    let revision: Revision
    let kind: ChangeKind
    var contentState: CompactJSON
    let urgency: Urgency
    let mustDeliver: Bool
    /// How long after the last push it may leave; nil: at once.
    var minimumIntervalSeconds: Int?
    let timestamp: Timestamp?
    let command: ChangeCommand

    /// When the card leaves the lock screen, if the end says so: after a time, or at a time.
    private var dismissal: EndRequest.Dismissal? {
        if case .end(let request) = command.body { request.dismissal } else { nil }
    }
    var dismissAfterSeconds: Int32? { if case .after(let seconds) = dismissal { Int32(seconds) } else { nil } }
    var dismissAt: PGTimestamp? { if case .at(let time) = dismissal { time.stored } else { nil } }
}

extension ChangeToStore {
    /// Whether nothing about it asks for more than its state to be sent soon.
    var isStateAlone: Bool {
        kind == .update && urgency == .routine && command.alert == nil && !mustDeliver && minimumIntervalSeconds == nil
            && timestamp != nil
    }

    /// All that its pushes need. `time` is the database's.
    func routineUpdate(readAt time: PGTimestamp, isSentWithRing: Bool) -> RoutineUpdate? {
        guard let timestamp else { return nil }
        let (facts, type) = (command.activity, command.type)
        return RoutineUpdate(
            of: ActivityNames(key: facts.key, app: type.app, environment: facts.environment, id: command.activityID),
            type: facts.typeName,
            delivery: facts.delivery,
            attributes: facts.attributes,
            policy: type.policy,
            revision: revision,
            contentState: contentState,
            timestamp: timestamp,
            hints: command.hints,
            readAt: time,
            origin: command.origin,
            isSentWithRing: isSentWithRing
        )
    }
}
