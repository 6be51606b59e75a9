import APNSTransport
import ActivityModel
import Logging
import Postgres

/// Sends one change to update tokens: one body per alert, one set of headers per priority.
struct TokenPushes: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// After so many pushes a sender looks again whether it still may send this (promise 5).
    static let sliceSize = 128

    /// One push to be made.
    struct Push: Sendable {
        let destination: Destination
        let alert: AlertContent?
        /// Kept as the destination's `heard_revision` if the push does not arrive.
        let heardIfRefused: Revision

        init(_ destination: Destination, alert: AlertContent?, heardIfRefused: Revision) {
            self.destination = destination
            self.alert = alert
            self.heardIfRefused = heardIfRefused
        }
    }

    /// What became of the pushes.
    struct Outcome: Sendable {
        /// How many pushes were begun, from the first on; the others were not, because something newer was accepted.
        var count = 0
        /// Those that APNs accepted.
        var accepted: [Destination] = []
        /// Those that it did not, each with its answer.
        var refused: [(push: Push, outcome: PushOutcome)] = []
        let activityKey: Int64
        let backoff: Backoff
    }

    private struct Group: Hashable {
        let alert: AlertContent?
        let priority: PushPriority
    }

    private typealias Answers = [(push: Push, outcome: PushOutcome?)]

    /// Sends a change. The ledger decides the priority, except for pushes that the budget has no say in.
    ///
    /// For the timeline: whether the pushes are in the order of the ring, with nobody left out, and whether they are all
    /// that there is to send.
    ///
    /// - Throws: ``LeaseLost``; what has not left then is not sent.
    func send(
        _ change: ChangeToSend,
        to pushes: [Push],
        fixedPriority: PushPriority? = nil,
        isRing: Bool = false,
        isWhole: Bool = false
    ) async throws -> Outcome {
        var outcome = Outcome(
            activityKey: activity.key,
            backoff: orchestrator.settings.backoff
        )
        guard !pushes.isEmpty else { return outcome }
        let identity = try await orchestrator.signing.identity(of: activity.bundleID, activity.environment)
        let priorities = try await priorities(of: change, pushes, fixed: fixedPriority)
        let detail = try await orchestrator.timeline
            .detail(of: activity.key, count: pushes.count, isWhole: isWhole, isRing: isRing)
        return try await withThrowingTaskGroup(of: Answers.self) { group in
            for start in stride(from: 0, to: pushes.count, by: Self.sliceSize) {
                // The slices before are still waiting for their answers.
                if start > 0, !(try await orchestrator.segments.mayGoOn(lease, newest: activity.newest)) { break }
                let slice = pushes[start..<min(start + Self.sliceSize, pushes.count)]
                let groups = Dictionary(grouping: slice) { push in
                    Group(alert: push.alert, priority: priorities[PriorityCase(push)] ?? .five)
                }
                for (common, members) in groups {
                    group.addTask { await send(change, common, identity, to: members, detail) }
                }
                outcome.count += slice.count
            }
            for try await answers in group {
                for (push, answer) in answers {
                    if let answer {
                        outcome.refused.append((push, answer))
                    } else {
                        outcome.accepted.append(push.destination)
                    }
                }
            }
            if let refusal = outcome.refused.first(where: { $0.outcome.class.isUnsendable })?.outcome {
                orchestrator.logger.error(
                    "APNs refuses a push for good",
                    metadata: ["activity.key": "\(activity.key)", "apns.reason": "\(refusal.words)"]
                )
            }
            return outcome
        }
    }

    private func send(
        _ change: ChangeToSend,
        _ common: Group,
        _ identity: SigningIdentity,
        to pushes: [Push],
        _ detail: TimelineDetail
    ) async -> Answers {
        let batch = PushBatch(
            environment: activity.environment,
            identity: identity,
            headers: PushHeaders(
                bundleID: activity.bundleID,
                priority: common.priority,
                expiration: activity.policy.expiration(of: change.kind, at: change.timestamp)
            ),
            body: body(of: change, common.alert),
            tokens: TokenBuffer(pushes.map(\.destination.token)),
            deadline: orchestrator.settings.pushDeadline,
            wantsReceipts: detail.wantsReceipts
        )
        let answer = await orchestrator.sender.send(batch)
        orchestrator.timeline.record(
            TimelineSending(
                activityKey: activity.key,
                segment: lease.segment,
                event: change.kind == .end ? .end : .update,
                revision: change.revision,
                priority: common.priority,
                detail: detail
            ),
            to: pushes.map(\.destination.deviceKey),
            answer
        )
        var exceptions: [Int: PushOutcome] = [:]
        for exception in answer.exceptions {
            exceptions[exception.index] = exception.outcome
        }
        return pushes.enumerated().map { ($1, exceptions[$0]) }
    }

    /// An alert that one card is owed from earlier was not measured with every later state; the state goes before it.
    private func body(of change: ChangeToSend, _ alert: AlertContent?) -> [UInt8] {
        let body = LiveActivityRendering(change: change, alert: alert, activity: activity).body()
        guard alert != nil, SizeLimit.device.excess(body.count) != nil else { return body }
        return LiveActivityRendering(change: change, alert: nil, activity: activity).body()
    }

    /// What the ledger decides by, apart from the change.
    private struct PriorityCase: Hashable {
        let budgetClass: BudgetClass
        let hasAlert: Bool

        init(_ push: Push) {
            budgetClass = push.destination.frequent ? .frequent : .ordinary
            hasAlert = push.alert != nil
        }
    }

    private func priorities(
        of change: ChangeToSend,
        _ pushes: [Push],
        fixed: PushPriority?
    ) async throws -> [PriorityCase: PushPriority] {
        var priorities: [PriorityCase: PushPriority] = [:]
        for push in pushes {
            let key = PriorityCase(push)
            guard priorities[key] == nil else { continue }
            if let fixed {
                priorities[key] = fixed
            } else {
                priorities[key] = try await orchestrator.ledger
                    .priority(of: change, hasAlert: key.hasAlert, in: activity, for: key.budgetClass)
            }
        }
        return priorities
    }
}
