import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import Store

/// The forms in which a change leaves along a ring, each made when it is first needed.
struct RingForms {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let pass: RingPass
    /// The content of ``RingPass/alert``.
    let alert: AlertContent?
    let identity: SigningIdentity
    /// Stores the decisions of the walk with its progress.
    let progress: RingProgress
    /// The priorities that the change has got, by class.
    private var priorities: [BudgetClass: GivenPriority]
    private var known: [RingSlice.Trait: OutgoingChange.Form] = [:]
    private var detail: TimelineDetail?
    /// Pushes that were made under the present ``detail``.
    private var told = 0

    init(
        room: DeliveryRoom,
        slot: WorkerSlot?,
        pass: RingPass,
        alert: AlertContent?,
        identity: SigningIdentity,
        progress: RingProgress
    ) {
        self.room = room
        self.slot = slot
        self.pass = pass
        self.alert = alert
        self.identity = identity
        self.progress = progress
        priorities = pass.change.priorities
    }

    /// Destinations of a slice that get the change in the same form.
    struct Part: Sendable {
        let outgoing: OutgoingChange
        let form: OutgoingChange.Form
        let slice: RingSlice
        let heardIfRefused: Revision
    }

    mutating func parts(of slice: RingSlice) async throws -> [Part] {
        let outgoing = OutgoingChange(
            room: room,
            slot: slot,
            lease: pass.lease,
            activity: pass.activity,
            change: pass.change,
            identity: identity,
            detail: try await detail(of: slice)
        )
        var parts: [Part] = []
        for (trait, slice) in slice.parts {
            parts.append(
                Part(
                    outgoing: outgoing,
                    form: try await form(for: trait, of: outgoing),
                    slice: slice,
                    heardIfRefused: pass.change.heard(missing: trait.hears ? pass.alert : nil)
                )
            )
        }
        return parts
    }

    private mutating func form(
        for trait: RingSlice.Trait,
        of outgoing: OutgoingChange
    ) async throws -> OutgoingChange.Form {
        if let form = known[trait] { return form }
        let alert = trait.hears ? alert : nil
        let priority = try await priority(
            of: PriorityCase(frequent: trait.frequent, alert: alert == nil ? nil : pass.alert)
        )
        let form = outgoing.form(alert: alert, priority: priority)
        known[trait] = form
        return form
    }

    /// If the budget does not matter, this asks no database, and no push waits for the record.
    private mutating func priority(of push: PriorityCase) async throws -> PushPriority {
        let (change, budgetClass) = (pass.change, push.budgetClass)
        let hasAlert = push.alert != nil
        // The alert of an older change was decided with that.
        if change.kind == .update, let alert = push.alert, alert != change.revision {
            return try await room.ledger.priority(of: change, push, in: pass.activity)
        }
        let policy = pass.activity.policy
        if let decided = priorities[budgetClass]?.holding(hasAlert: hasAlert, under: policy) { return decided }
        let decided: PushPriority
        if let decision = BudgetItem(change, hasAlert: hasAlert).decisionWithoutBudget {
            decided = decision.priority
            if decision.concernsBudget {
                progress.add(
                    BudgetLedger.record(
                        decision,
                        of: change.revision,
                        in: pass.activity,
                        for: budgetClass,
                        at: change.readAt
                    ),
                    of: budgetClass
                )
            }
        } else {
            decided = try await room.ledger.priority(of: change, push, in: pass.activity)
        }
        priorities[budgetClass] = GivenPriority(decided, isForAlert: hasAlert)
        return decided
    }

    /// How the timeline records the next slice. It records a ring that proves to be large by batches.
    private mutating func detail(of slice: RingSlice) async throws -> TimelineDetail {
        let isTooLong = told + slice.count > (detail == .pushes ? TimelineScale.few : RingWalk.partSize)
        if let detail, !isTooLong {
            told += slice.count
            return detail
        }
        let next =
            detail == nil
            ? try await room.timeline.detail(ofRing: pass.activity.key)
            : room.timeline.batchDetail(isRing: true)
        detail = next
        told = slice.count
        return next
    }
}
