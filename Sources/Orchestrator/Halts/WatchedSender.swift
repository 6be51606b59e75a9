import APNSTransport
import ActivityModel

/// The transport, with an eye on what APNs answers to pushes: the one place that every push to a token comes by.
struct WatchedSender: ForwardingSender {
    let base: any PushSender
    let halts: SendingHalts

    func send(_ batch: PushBatch) async -> BatchOutcome {
        let outcome = await base.send(batch)
        await halts.observe(
            AnswerWatch.Count(answers: outcome.answered, rejections: outcome.rejected),
            of: HaltScope(app: batch.headers.bundleID, environment: batch.environment)
        )
        return outcome
    }
}
