import APNSTransport
import ActivityModel
import DeliveryStore
import Store

extension DeliveryRoom {
    /// Sends a batch and counts the answers of APNs for the halts. All pushes to tokens leave here.
    ///
    /// `devices` are the keys of the devices of the tokens, in their order; nil if unknown.
    /// `slot` belongs to the worker that sends; nil if no worker of the dispatcher does.
    func send(_ batch: PushBatch, to devices: [Int64?], slot: WorkerSlot?) async -> BatchOutcome {
        let outcome = await slot.awaiting { await sender.send(batch) }
        await halts.observe(
            AnswerWatch.Count(answers: outcome.answered, rejections: outcome.rejected),
            of: outcome.exceptions.filter(\.isRejection).compactMap { devices[$0.index] },
            in: HaltScope(app: batch.headers.bundleID, environment: batch.environment)
        )
        return outcome
    }
}
