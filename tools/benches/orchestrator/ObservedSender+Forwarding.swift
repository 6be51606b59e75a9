import APNSTransport
import ActivityModel
import Channels
import Delivery

/// What is not observed goes on as it came.
extension ObservedSender {
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

    func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        base.endpoint(environment, api)
    }

    func reach(
        _ environment: APNSEnvironment,
        _ api: APNSAPI,
        deadline: Duration
    ) async -> ReachabilityOutcome {
        await base.reach(environment, api, deadline: deadline)
    }
}
