package import APNSTransport
package import ActivityModel
import Delivery

/// A sender for tests in which nothing is sent: no push ever leaves it.
package struct NoSender: PushSender {
    package init() {}

    package func send(_ batch: PushBatch) async -> BatchOutcome {
        BatchOutcome(count: batch.tokens.count, allAre: PushOutcome(.notSent))
    }
    package func broadcast(_ push: BroadcastPush) async -> PushOutcome { PushOutcome(.notSent) }
    package func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome { .failed(PushOutcome(.notSent)) }
    package func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome { .failed(PushOutcome(.notSent)) }
    package func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome { .failed(PushOutcome(.notSent)) }
    package func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome { .failed(PushOutcome(.notSent)) }
    package func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        APNSEndpoints.standard(environment, api)
    }
    package func reach(_ environment: APNSEnvironment, _ api: APNSAPI, deadline: Duration) async -> ReachabilityOutcome
    {
        .failed(.other, detail: "nothing leaves")
    }
}
