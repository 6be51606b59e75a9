import APNSTransport
import ActivityModel

@testable import Orchestrator

/// A sender for tests in which nothing is sent: no push ever leaves it.
struct NoSender: PushSender {
    func send(_ batch: PushBatch) async -> BatchOutcome {
        BatchOutcome(count: batch.tokens.count, allAre: PushOutcome(.notSent))
    }
    func broadcast(_ push: BroadcastPush) async -> PushOutcome { PushOutcome(.notSent) }
    func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome { .failed(PushOutcome(.notSent)) }
    func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome { .failed(PushOutcome(.notSent)) }
    func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome { .failed(PushOutcome(.notSent)) }
    func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome { .failed(PushOutcome(.notSent)) }
    func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        APNSEndpoints.standard(environment, api)
    }
    func reach(_ environment: APNSEnvironment, _ api: APNSAPI, deadline: Duration) async -> ReachabilityOutcome {
        .failed(.other, detail: "nothing leaves")
    }
}
