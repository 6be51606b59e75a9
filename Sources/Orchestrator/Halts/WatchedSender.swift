import APNSTransport
import ActivityModel

/// The transport, with an eye on what APNs answers to pushes: the one place that every push to a token comes by.
struct WatchedSender: PushSender {
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

    func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        await base.broadcast(push)
    }

    func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome {
        await base.createChannel(environment: environment, identity: identity, bundleID: bundleID, storage: storage)
    }

    func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome {
        await base.readChannel(environment: environment, identity: identity, bundleID: bundleID, channelID: channelID)
    }

    func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome {
        await base.listChannels(environment: environment, identity: identity, bundleID: bundleID)
    }

    func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome {
        await base.deleteChannel(environment: environment, identity: identity, bundleID: bundleID, channelID: channelID)
    }
}
