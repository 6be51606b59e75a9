package import APNSTransport
package import ActivityModel

/// How the orchestrator sees the transport: batches out, answers back.
///
/// Every call returns by its deadline. An answer of APNs is a value, never an error.
package protocol PushSender: APNSHosts {
    /// Sends one body under one set of headers to many tokens.
    func send(_ batch: PushBatch) async -> BatchOutcome

    /// Sends one push to a channel.
    func broadcast(_ push: BroadcastPush) async -> PushOutcome

    /// Creates a channel. Not idempotent: after `unknown` one may exist that nobody knows.
    func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome

    /// Asks whether a channel exists, and what it stores.
    func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome

    /// Lists all channels of an app in an environment.
    func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome

    /// Deletes a channel for good.
    func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome
}

extension APNSClient: PushSender {}
