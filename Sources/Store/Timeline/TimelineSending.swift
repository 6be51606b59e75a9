import APNSTransport
package import ActivityModel

/// What the pushes of a batch have in common, as far as the timeline tells it.
package struct TimelineSending: Sendable, Hashable {
    let activity: ActivityNames
    let segment: Int16?
    let event: TimelineRow.Event
    /// Nil for what carries no state.
    let revision: Revision?
    /// The request that brought the change.
    let origin: RequestOrigin?
    let priority: PushPriority
    let detail: TimelineDetail

    package init(
        activity: ActivityNames,
        segment: Int16?,
        event: TimelineRow.Event,
        revision: Revision?,
        origin: RequestOrigin?,
        priority: PushPriority,
        detail: TimelineDetail
    ) {
        self.activity = activity
        self.segment = segment
        self.event = event
        self.revision = revision
        self.origin = origin
        self.priority = priority
        self.detail = detail
    }
}

/// How much the timeline tells of a batch.
package enum TimelineDetail: Sendable, Hashable {
    /// A row per push.
    case pushes
    /// A row for the batch, and one for each push that was not accepted. The parts of one batch share its `number`. On
    /// a ring, whoever rides between the first and the last device was sent to.
    case batch(number: UInt64, isRing: Bool)

    /// Whether the transport is to be asked for ``BatchOutcome/receipts``.
    package var wantsReceipts: Bool { self == .pushes }
}

extension TimelineSending {
    /// The most characters kept of a word that came from APNs.
    static let longestReason = 200

    /// The rows that tell what became of pushes to `devices`, which are in the order of the batch.
    func rows(to devices: [Int64], _ answers: BatchOutcome) -> [TimelineRow] {
        switch detail {
        case .pushes: pushRows(to: devices, answers)
        case .batch(_, let isRing): batchRows(to: devices, answers, isRing: isRing)
        }
    }

    /// The row that tells what became of one push; without a device, to the channel.
    func row(to deviceKey: Int64?, _ outcome: PushOutcome, _ receipt: BatchOutcome.Receipt? = nil) -> TimelineRow {
        var row = row(.push)
        row.deviceKey = deviceKey
        row.outcome = outcome.class.name
        row.status = outcome.status
        row.reason = (outcome.reason ?? outcome.detail).map { String($0.prefix(Self.longestReason)) }
        row.apnsID = outcome.apnsID ?? receipt?.apnsID
        row.uniqueID = outcome.uniqueID ?? receipt?.uniqueID
        row.latency = receipt?.latency
        return row
    }

    private func row(_ kind: TimelineRow.Kind) -> TimelineRow {
        var row = TimelineRow(kind, activityKey: activity.key)
        row.segment = segment
        row.event = event
        row.revision = revision
        row.priority = priority
        return row
    }

    private func pushRows(to devices: [Int64], _ answers: BatchOutcome) -> [TimelineRow] {
        var refusals: [Int: PushOutcome] = [:]
        for exception in answers.exceptions { refusals[exception.index] = exception.outcome }
        var receipts: [Int: BatchOutcome.Receipt] = [:]
        for receipt in answers.receipts { receipts[receipt.index] = receipt }
        return devices.enumerated().map { index, device in
            row(to: device, refusals[index] ?? PushOutcome(.accepted, status: 200), receipts[index])
        }
    }

    private func batchRows(to devices: [Int64], _ answers: BatchOutcome, isRing: Bool) -> [TimelineRow] {
        guard let first = devices.min(), let last = devices.max() else { return [] }
        var batch = row(.batch)
        batch.counts = PushCounts(answers).answers
        if isRing { batch.range = first...last }
        return [batch] + exceptionRows(to: devices, answers)
    }

    /// Where APNs takes nothing from anybody, the batch's own row says it all.
    private func exceptionRows(to devices: [Int64], _ answers: BatchOutcome) -> [TimelineRow] {
        let concernsSingle = answers.accepted > 0 || answers.exceptions.contains { $0.outcome.class.concernsSinglePush }
        guard concernsSingle else { return [] }
        return answers.exceptions.filter { devices.indices.contains($0.index) }
            .map { row(to: devices[$0.index], $0.outcome) }
    }
}

extension PushOutcome.Class {
    /// Whether the answer is about one destination, not about APNs, the way there, or the sender.
    fileprivate var concernsSinglePush: Bool {
        switch self {
        case .tokenDead, .tokenRejected: true
        case .accepted, .requestInvalid, .channelGone, .retry, .credential, .unknown, .notSent: false
        }
    }
}
