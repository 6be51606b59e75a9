package import APNSTransport
package import ActivityModel

/// How this room sees the transport: requests to Apple about channels.
///
/// Every call returns by its deadline. An answer of APNs is a value, never an error.
package protocol ChannelAPI: Sendable {
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
