package import APITypes
import Doctor
package import Logging
package import Metrics
import Ownership
package import Postgres
import Record
import Registry
package import ServiceLifecycle
package import Store
package import Webhooks

/// Accepts changes, keeps them, and gets every phone to show the newest one.
///
/// One value for the whole daemon. Its operations are in the extensions in the folders beside this file: `Intake`
/// (start, update, end, subscriptions), `Channels` and `Schedules`. Rooms of their own answer the others: `Registry`
/// (apps, keys, types, devices), `Record`, `Webhooks` and `Doctor`.
/// ``services`` run in the background.
///
/// Operations throw `Problem` for mistakes of the caller and `PostgresError` when the database is away.
package final class Orchestrator: Sendable {
    /// The room below all others.
    let store: Store
    package let sender: any PushSender
    /// Apps, keys, types and devices.
    let registry: Registry
    /// The clock by which tickets expire.
    let clock: DatabaseClock
    let wakeUps = WakeUps()
    let dueWork: DueWork
    let intake: Intake
    let segments: SegmentStore
    let changes: ChangeStore
    let ledger: BudgetLedger
    let halts: SendingHalts
    let sweeps: ChannelSweepStore
    let deliveries: DeliveryTimes
    let channelGauges: ChannelGauges
    /// Limits how many requests to Apple for channels of activities run at the same time. Making a channel is not
    /// idempotent. A request that waits at Apple past its deadline is repeated, and then nobody knows the channel of
    /// the first one.
    let channelRequests = Turnstile(width: 32)
    let heldConnections: HeldConnections
    let record: Record
    /// The unchanging facts of activities, by their ids.
    let facts: ExpiringCache<ActivityFacts.Name, ActivityFacts>
    let counter: DeliveryCounter
    let partitions: PartitionKeeper
    let webhookRoom: Webhooks
    let doctor: Doctor

    package init(
        database: Database,
        sender: any PushSender,
        webhooks: (any WebhookSender)? = nil,
        masterKeys: MasterKeys,
        settings: OrchestratorSettings,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        store = Store(database: database, masterKeys: masterKeys, settings: settings, logger: logger)
        halts = SendingHalts(
            database: database,
            batchSize: settings.stretchSize,
            pushLease: QueuedPush.lease(settings),
            uptime: settings.uptime,
            logger: logger
        )
        self.sender = sender
        doctor = Doctor(store: store, hosts: sender)
        clock = DatabaseClock(database: database)
        registry = Registry(store: store, clock: clock, wake: { [wakeUps] in wakeUps.signal() })
        // Twice, so that every other daemon has looked for work meanwhile.
        segments = SegmentStore(
            database: database,
            lease: settings.lease,
            patience: settings.pollInterval * 2,
            crowd: settings.stretchSize
        )
        intake = Intake(database: database, wakeUps: wakeUps, skews: store.skews, segments: segments, logger: logger)
        changes = ChangeStore(database: database, skews: store.skews)
        ledger = BudgetLedger(database: database)
        sweeps = ChannelSweepStore(database: database)
        dueWork = DueWork(database: database, settings: settings, logger: logger)
        deliveries = DeliveryTimes(factory: metrics)
        channelGauges = ChannelGauges(factory: metrics)
        heldConnections = HeldConnections(of: database.configuration.maximumConnections)
        partitions = PartitionKeeper(database: database, uptime: settings.uptime, logger: logger)
        record = Record(database: database, settings: settings, logger: logger)
        webhookRoom = Webhooks(
            store: store,
            record: record,
            partitions: partitions,
            clock: clock,
            sender: webhooks,
            isDue: { [dueWork] in dueWork.isDue(.webhooks) }
        )
        counter = DeliveryCounter(database: database)
        facts = ExpiringCache(lifetime: .seconds(60), limit: 100_000) { ContinuousClock().now }
    }

    /// Keeps this daemon's partitions. Start it last: then it stops first, and other daemons have the partitions before
    /// this one has drained its listeners.
    package var ownership: any Service { partitions }

    /// The services that bring accepted changes to phones, in the order in which they start.
    package var services: [any Service] {
        [
            // Stops last: it writes what the others did to their end.
            store.timelineWriter,
            Dispatcher(orchestrator: self),
            dueWork,
            WorkNotifications(orchestrator: self),
            ChannelSweeper(orchestrator: self),
            CardWatcher(orchestrator: self),
            ScheduleRunner(orchestrator: self),
            PushQueue(orchestrator: self),
            RetentionDuty(orchestrator: self),
            registry.duty,
            HaltPatrol(orchestrator: self),
            doctor.gauges,
            record.feed,
            webhookRoom.duty,
            intake,
        ] + store.duties
    }
}

// The parts of the store that the rooms above it reach through this hub.
extension Orchestrator {
    package var database: Database { store.database }
    /// Seal signing keys at rest and sign tickets.
    package var masterKeys: MasterKeys { store.masterKeys }
    package var settings: OrchestratorSettings { store.settings }
    package var logger: Logger { store.logger }
    var signing: SigningIdentities { store.signing }
    var timeline: Timeline { store.timeline }
    var skews: ClockSkewWatch { store.skews }

    /// The answer for an error that is not the caller's fault (``Store/problem(for:)``).
    package func problem(for error: any Error) -> Problem? { Store.problem(for: error) }
}
