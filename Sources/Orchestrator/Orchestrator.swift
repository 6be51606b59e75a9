package import APITypes
package import Channels
package import Delivery
package import DeliveryStore
import Doctor
package import Intake
package import Logging
package import Metrics
import Ownership
package import Postgres
package import Record
package import Registry
package import ServiceLifecycle
package import Store
package import Webhooks

/// The top of the engine: makes its rooms, and starts what they do in the background (``services``).
///
/// - **What it does.** The API asks the rooms themselves: ``registry``, ``intake``, ``deliveryStore``, ``record``,
///   ``channelRoom`` and ``webhookRoom``. Here are the requests that need more than one room (`Orchestrator+Rooms`), and
///   three folders.
///   - `Schedules`: runs what is due (``ScheduleRunner``), lists and cancels it.
///   - `Retention`: deletes ended activities (``RetentionDuty``).
///   - `Users`: exports what is stored of a user.
/// - **Tables that it alone writes.** None. It runs schedules, deletes old activities, and settles a restored database
///   (``RestoredEvents``), with statements of the rooms below.
///
/// One for the whole daemon. Operations throw `Problem` for mistakes of the caller and `PostgresError` when the database
/// is away.
package final class Orchestrator: Sendable {
    /// The room below all others.
    let store: Store
    package let sender: any PushSender
    /// Apps, keys, types and devices.
    package let registry: Registry
    /// The clock by which tickets expire.
    let clock: DatabaseClock
    /// What waits to be sent.
    package let deliveryStore: DeliveryStore
    /// The workers that send.
    let delivery: DeliveryRoom
    /// Starts, updates, ends, audiences and reports.
    package let intake: Intake
    package let channelRoom: Channels
    /// Activities, events, timelines and the audit log.
    package let record: Record
    /// What changes of the registry mean to activities.
    let activities: RunningActivities
    let partitions: PartitionKeeper
    package let webhookRoom: Webhooks
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
        deliveryStore = DeliveryStore(store: store, metrics: metrics)
        self.sender = sender
        doctor = Doctor(store: store, hosts: sender)
        clock = DatabaseClock(database: database, now: { settings.now() })
        registry = Registry(store: store, clock: clock, wake: { [wakeUps = deliveryStore.wakeUps] in wakeUps.signal() })
        let fingerprints = ["TALLY_MASTER_KEY": masterKeys.fingerprints.joined(separator: " ")]
        partitions = PartitionKeeper(
            database: database,
            settings: settings.shared.merging(fingerprints) { $1 },
            uptime: settings.uptime,
            logger: logger
        )
        record = Record(
            store: store,
            settleRestored: { [restored = RestoredEvents(database: database)] in try await restored.settle() }
        )
        activities = RunningActivities(database: database, work: deliveryStore)
        intake = Intake(
            store: store,
            registry: registry,
            record: record,
            work: deliveryStore,
            activities: activities
        )
        webhookRoom = Webhooks(
            store: store,
            record: record,
            partitions: partitions,
            clock: clock,
            sender: webhooks,
            isDue: { [dueWork = deliveryStore.dueWork] in dueWork.isDue(.webhooks) }
        )
        channelRoom = Channels(
            store: store,
            apple: sender,
            metrics: metrics,
            deletions: deliveryStore.dueWork.signals(of: .channelDeletions),
            losses: deliveryStore.dueWork.signals(of: .lostChannels),
            wake: { [wakeUps = deliveryStore.wakeUps] in wakeUps.signal() },
            followers: { [counter = record.counter] in try await counter.followers(of: $0) }
        )
        delivery = DeliveryRoom(
            store: store,
            work: deliveryStore,
            sender: sender,
            registry: registry,
            channels: channelRoom
        )
    }

    /// Keeps this daemon's partitions. Start it last: then it stops first, and other daemons have the partitions before
    /// this one has drained its listeners.
    package var ownership: any Service { partitions }

    /// The services that bring accepted changes to phones, in the order in which they start.
    package var services: [any Service] {
        [
            // Stops last: it writes what the others did to their end.
            store.timelineWriter,
            delivery.dispatcher,
            deliveryStore.dueWork,
            deliveryStore.notifications,
            channelRoom.duty,
            delivery.cardWatcher,
            delivery.pushQueue,
            RetentionDuty(orchestrator: self),
            registry.duty,
            deliveryStore.haltPatrol,
            doctor.gauges,
            record.feed,
            webhookRoom.duty,
            intake.duty,
            // Stops before the intake: what it claims is accepted, or left to another daemon.
            ScheduleRunner(orchestrator: self),
            registry.expiry,
        ] + store.duties(sealing: Self.sealedSecrets)
    }

    /// The secrets of the rooms above the store, sealed with the master key.
    static let sealedSecrets: [SealedSecrets] = [.signingKeys, .ticketKeys, .webhooks]
}

// The parts of the store that the programs ask for.
extension Orchestrator {
    package var database: Database { store.database }
    /// Seal signing keys at rest and sign tickets.
    package var masterKeys: MasterKeys { store.masterKeys }
    package var settings: OrchestratorSettings { store.settings }
    package var logger: Logger { store.logger }

    /// The answer for an error that is not the caller's fault (``Store/problem(for:)``).
    package func problem(for error: any Error) -> Problem? { Store.problem(for: error) }
}
