package import APNSTransport
package import Channels

/// How sending sees the transport: batches out, answers back. Requests about channels are in `ChannelAPI`.
///
/// Every call returns by its deadline. An answer of APNs is a value, never an error.
package protocol PushSender: APNSHosts, ChannelAPI {
    /// Sends one body under one set of headers to many tokens.
    func send(_ batch: PushBatch) async -> BatchOutcome

    /// Sends one push to a channel.
    func broadcast(_ push: BroadcastPush) async -> PushOutcome
}

extension APNSClient: PushSender {}
