package import APNSTransport
package import ActivityModel

/// A sender that stands before another one, to see or to change some of what passes; the rest goes on as it came.
package protocol ForwardingSender: PushSender {
    var base: any PushSender { get }
}

extension ForwardingSender {
    package func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        await base.broadcast(push)
    }

    package func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome {
        await base.createChannel(environment: environment, identity: identity, bundleID: bundleID, storage: storage)
    }

    package func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome {
        await base.readChannel(environment: environment, identity: identity, bundleID: bundleID, channelID: channelID)
    }

    package func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome {
        await base.listChannels(environment: environment, identity: identity, bundleID: bundleID)
    }

    package func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome {
        await base.deleteChannel(environment: environment, identity: identity, bundleID: bundleID, channelID: channelID)
    }

    package func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        base.endpoint(environment, api)
    }

    package func reach(
        _ environment: APNSEnvironment,
        _ api: APNSAPI,
        deadline: Duration
    ) async -> ReachabilityOutcome {
        await base.reach(environment, api, deadline: deadline)
    }
}
