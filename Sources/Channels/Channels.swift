package import Metrics
import Postgres
package import ServiceLifecycle
package import Store
import Waiting

/// The room of channels: makes channels at Apple, looks after them, and deletes them.
///
/// - **What it does.**
///   - It answers the API: it makes, lists, reads and deletes channels (`Channels+Operations`), and compares them with
///     Apple's list (`Channels+Reconcile`).
///   - It makes channels. After a failure it still knows each that Apple has made (`Channels+Making`).
///   - It replaces lost channels and ends the cards that listened to them (`Channels+LostChannels`, ``ChannelCards``).
///   - In the background it fills pools, compares each app with Apple's list once an hour, and deletes channels after
///     their grace time (``ChannelSweeper``). ``ChannelComparison`` makes every decision about that list.
/// - **Who calls it.** The HTTP API and the doctor, by way of the hub. Accepting gives activities their channels
///   (``ChannelRows``). Sending has them made and reports lost ones. The room calls none of them.
/// - **Tables that it alone writes.** `channels`, `channel_sweeps`, `unknown_channels`. Rooms above take its statements
///   (``ChannelRows``) into their own.
///
/// One for the whole daemon.
package struct Channels: Sendable {
    let store: Store
    let apple: any ChannelAPI
    /// The leases on the channels of an app.
    let sweeps: ChannelSweepStore
    let gauges: ChannelGauges
    /// Connections that wait for Apple with a transaction.
    let heldConnections: HeldConnections
    let requests = ChannelRequests()
    let deletions: AsyncStream<Void>
    let losses: AsyncStream<Void>
    let wake: @Sendable () -> Void
    let followers: @Sendable (_ activityKeys: Set<Int64>) async throws -> [Int64: Int]

    /// - Parameters:
    ///   - store: What is written, and how.
    ///   - apple: Carries requests to Apple.
    ///   - metrics: Takes the number of channels.
    ///   - deletions: Has an element after each look that finds a channel to delete. This room is the only consumer.
    ///   - losses: The same for lost channels with cards left.
    ///   - wake: Tells the sending half that there is work. It is called after the commit.
    ///   - followers: Counts the cards on the channels of activities.
    package init(
        store: Store,
        apple: any ChannelAPI,
        metrics: any MetricsFactory,
        deletions: AsyncStream<Void>,
        losses: AsyncStream<Void>,
        wake: @escaping @Sendable () -> Void,
        followers: @escaping @Sendable (_ activityKeys: Set<Int64>) async throws -> [Int64: Int]
    ) {
        self.store = store
        self.apple = apple
        self.deletions = deletions
        self.losses = losses
        self.wake = wake
        self.followers = followers
        sweeps = ChannelSweepStore(database: store.database)
        gauges = ChannelGauges(factory: metrics)
        heldConnections = HeldConnections(of: store.database.configuration.maximumConnections)
    }

    /// How long Apple's hosts may disagree about a channel after Apple made or deleted it.
    package static let settlingTime = Duration.seconds(ChannelComparison.settlingTime)

    /// Fills pools, compares channels with Apple's list and deletes old ones, until the daemon stops.
    package var duty: any Service { ChannelSweeper(room: self) }

    var database: Database { store.database }

    /// The cards of channels.
    var cards: ChannelCards { ChannelCards(database: database, batchSize: store.settings.stretchSize) }
}
