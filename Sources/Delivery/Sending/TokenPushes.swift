import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Store

/// Sends changes to lists of update tokens: one body per alert, one set of headers per priority.
struct TokenPushes: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// How many pushes leave under one check that the sender still may send (promise 5).
    static let sliceSize = 128

    /// One push to be made.
    struct Push: Sendable {
        let destination: Destination
        let alert: OwedAlert?
        /// Kept as the destination's `heard_revision` if the push does not arrive.
        let heardIfRefused: Revision

        init(_ destination: Destination, alert: OwedAlert?, heardIfRefused: Revision) {
            self.destination = destination
            self.alert = alert
            self.heardIfRefused = heardIfRefused
        }
    }

    private struct Group: Hashable {
        let alert: AlertContent?
        let priority: PushPriority
        let leavesOutContent: Bool
    }

    /// Sends a change. The ledger decides the priority, except for pushes that the budget has no say in.
    ///
    /// - Returns: Those whose pushes have left, from the first on, and which of them were not accepted; the others were
    ///   not begun, because something newer was accepted.
    /// - Throws: ``LeaseLost``; what has not left then is not sent.
    func send(
        _ change: ChangeToSend,
        to pushes: [Push],
        fixedPriority: PushPriority? = nil
    ) async throws -> (begun: [Destination], exceptions: PushExceptions) {
        var exceptions = PushExceptions(activityKey: activity.key, backoff: room.settings.backoff)
        guard !pushes.isEmpty else { return ([], exceptions) }
        let outgoing = OutgoingChange(
            room: room,
            slot: slot,
            lease: lease,
            activity: activity,
            change: change,
            identity: try await room.signing.identity(of: activity.bundleID, activity.environment),
            detail: try await room.timeline.detail(of: activity.key, count: pushes.count)
        )
        let groups = try await groups(pushes, of: change, fixedPriority)
        let begun = try await withThrowingTaskGroup(of: PushExceptions.self) { tasks in
            var begun = 0
            for start in stride(from: 0, to: pushes.count, by: Self.sliceSize) {
                // The slices before may have waited for their answers, or still do. The stamp and the priority may have
                // waited for the accept of an end.
                guard try await room.segments.mayGoOn(lease, with: activity, isFirst: start == 0) else { break }
                let slice = start..<min(start + Self.sliceSize, pushes.count)
                for (group, members) in Dictionary(grouping: slice, by: { groups[$0] }) {
                    let form = outgoing.form(
                        alert: group.alert,
                        priority: group.priority,
                        leavingOutContent: group.leavesOutContent
                    )
                    let members = members.map { pushes[$0] }
                    let nothing = exceptions
                    tasks.addTask {
                        let outcome = await outgoing.send(form, to: Pass.Destinations(members.map(\.destination)))
                        var exceptions = nothing
                        exceptions.add(outcome) { PushExceptions.Recipient(members[$0]) }
                        return exceptions
                    }
                }
                begun = slice.upperBound
            }
            for try await some in tasks { exceptions.add(some) }
            return begun
        }
        exceptions.tellRefusal(to: room.logger)
        return (pushes[..<begun].map(\.destination), exceptions)
    }

    /// What is to be the same for pushes that leave together, by push.
    private func groups(
        _ pushes: [Push],
        of change: ChangeToSend,
        _ fixedPriority: PushPriority?
    ) async throws -> [Group] {
        var priorities: [PriorityCase: PushPriority] = [:]
        var groups: [Group] = []
        groups.reserveCapacity(pushes.count)
        for push in pushes {
            let key = PriorityCase(frequent: push.destination.frequent, alert: push.alert?.revision)
            if priorities[key] == nil {
                if let fixedPriority {
                    priorities[key] = fixedPriority
                } else {
                    priorities[key] = try await room.ledger.latePriority(of: change, key, in: activity)
                }
            }
            groups.append(
                Group(
                    alert: push.alert?.content,
                    priority: priorities[key] ?? .five,
                    leavesOutContent: !push.destination.canDecode
                )
            )
        }
        return groups
    }
}

extension PushExceptions.Recipient {
    init(_ push: TokenPushes.Push) {
        self.init(
            deviceKey: push.destination.deviceKey,
            token: push.destination.token,
            failures: push.destination.failures,
            heardIfRefused: push.heardIfRefused
        )
    }
}
