import APNSTransport
import ActivityModel
import Store

extension Orchestrator {
    /// Sends a batch with an eye on what APNs answers: the one way by which pushes to tokens leave.
    ///
    /// `devices` are the keys of those that the tokens belong to, in their order; nil where nobody knows.
    /// `slot` belongs to the worker that sends; nil where no worker of the dispatcher does.
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
