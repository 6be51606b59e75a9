import Cryptography
package import Logging
package import Metrics
package import Postgres
package import ServiceLifecycle
import SwiftImporter

/// Accepts changes, keeps them, and gets every phone to show the newest one.
///
/// One value for the whole daemon. Its operations are in the extensions in the folders beside this file: `Registry`
/// (apps, keys, types, devices), `Intake` (start, update, end, subscriptions), `Channels` and `Schedules`.
/// What goes on in the background is in ``services``.
///
/// Operations throw `Problem` for what the caller did wrong and `PostgresError` when the database is away.
package final class Orchestrator: Sendable {
    package let database: Database
    package let sender: any PushSender
    /// Seal signing keys at rest and sign tickets.
    package let masterKeys: MasterKeys
    package let settings: OrchestratorSettings
    package let logger: Logger
    let registry = RegistryCaches()
    /// The SHA-256 of the bootstrap key, if there is one.
    let bootstrapHash: [UInt8]?
    let wakeUps = WakeUps()
    let intake: Intake
    let signing: SigningIdentities
    let segments: SegmentStore
    let changes: ChangeStore
    let ledger: BudgetLedger
    let halts: SendingHalts
    let skews = ClockSkewWatch()
    let sweeps: ChannelSweepStore
    let timeline: Timeline
    let deliveries: DeliveryTimes
    let channelGauges: ChannelGauges
    let heldConnections: HeldConnections
    let importer = SwiftImporter()
    let eventStore: EventStore
    let eventFeed: EventFeed
    /// What never changes of an activity, by its ids.
    let facts: ExpiringCache<ActivityFacts.Name, ActivityFacts>
    let versionUse: VersionUse

    package init(
        database: Database,
        sender: any PushSender,
        masterKeys: MasterKeys,
        settings: OrchestratorSettings,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.database = database
        halts = SendingHalts(
            database: database,
            batchSize: settings.stretchSize,
            pushLease: QueuedPush.lease(settings),
            uptime: settings.uptime,
            logger: logger
        )
        self.sender = sender
        self.masterKeys = masterKeys
        self.settings = settings
        self.logger = logger
        bootstrapHash = settings.bootstrapKey.map { SHA256.hash($0) }
        signing = SigningIdentities(database: database, masterKeys: masterKeys)
        // Twice, so that every other daemon has looked for work meanwhile.
        segments = SegmentStore(
            database: database,
            lease: settings.lease,
            patience: settings.pollInterval * 2,
            crowd: settings.stretchSize
        )
        intake = Intake(database: database, wakeUps: wakeUps, skews: skews, segments: segments, logger: logger)
        changes = ChangeStore(database: database, skews: skews)
        ledger = BudgetLedger(database: database)
        sweeps = ChannelSweepStore(database: database)
        timeline = Timeline(database: database)
        deliveries = DeliveryTimes(factory: metrics)
        channelGauges = ChannelGauges(factory: metrics)
        heldConnections = HeldConnections(of: database.configuration.maximumConnections)
        eventStore = EventStore(database: database)
        eventFeed = EventFeed(store: eventStore, interval: settings.pollInterval, logger: logger)
        facts = ExpiringCache(lifetime: .seconds(60), limit: 100_000) { ContinuousClock().now }
        versionUse = VersionUse(
            database: database,
            pageSize: settings.stretchSize,
            lastFollowers: ExpiringCache(lifetime: .seconds(60), limit: 10_000) { ContinuousClock().now }
        )
    }

    /// What has to run for accepted changes to reach phones, in the order in which it starts.
    package var services: [any Service] {
        [
            // Stops last: it writes what the others did to their end.
            TimelineWriter(timeline: timeline, database: database, logger: logger),
            Dispatcher(orchestrator: self),
            WorkNotifications(orchestrator: self),
            ChannelSweeper(orchestrator: self),
            CardWatcher(orchestrator: self),
            ScheduleRunner(orchestrator: self),
            PushQueue(orchestrator: self),
            ExpiryDuty(orchestrator: self),
            PartitionDuty(orchestrator: self),
            RetentionDuty(orchestrator: self),
            MasterKeyRotation(database: database, keys: masterKeys, logger: logger),
            HaltPatrol(orchestrator: self),
            WorkGauges(orchestrator: self),
            eventFeed,
            intake,
        ]
    }
}

/// What an operator may set; all of it has defaults.
package struct OrchestratorSettings: Sendable {
    /// An admin key that is accepted as it is, for the first steps on a new installation. Secret.
    package var bootstrapKey: String?
    /// The longest wait between two tries of the same push (promise 2).
    package var retryCap: Duration
    /// How long leased work stays with a daemon that says nothing (promise 12).
    package var lease: Duration
    /// How long a push waits for its answer.
    package var pushDeadline: Duration
    /// How often the database is asked for work when nothing wakes the daemon.
    package var pollInterval: Duration
    /// Segments worked on at the same time.
    package var concurrentSegments: Int
    /// A ring with more destinations is divided, so that several daemons can carry its activity.
    package var ringSize: Int
    /// Rows of what may be many that one statement reads or writes: members of an audience, devices, starts, cards. Few
    /// enough for what has to leave meanwhile.
    package var stretchSize: Int
    /// How long events and the timeline are kept at least.
    package var eventRetention: Duration
    /// How long an activity is kept after its end, at least a day, and at least as long as events; nil: for ever.
    package var activityRetention: Duration?
    /// How long it is kept what operators did; nil: for ever.
    package var auditRetention: Duration?
    /// How many changes may wait to be accepted before routine ones are refused; the others a little later.
    package var intakeLimit: Int
    /// How long they may have to wait for that, by the pace of the last moments.
    package var intakeWait: Duration
    /// Where in its range a delay before another try falls, from 0 to 1; asked each time.
    package var jitter: @Sendable () -> Double
    /// How long this daemon has run, by a clock that only goes on; for what is counted within a minute.
    package var uptime: @Sendable () -> Duration
    /// Returns after a time; throws when cancelled. For tries that are repeated.
    package var pause: @Sendable (Duration) async throws -> Void

    package init(
        bootstrapKey: String? = nil,
        retryCap: Duration = .seconds(30),
        lease: Duration = .seconds(4),
        pushDeadline: Duration = .seconds(10),
        pollInterval: Duration = .milliseconds(200),
        concurrentSegments: Int = 8,
        ringSize: Int = 50_000,
        stretchSize: Int = 2_000,
        eventRetention: Duration = .seconds(7 * 86_400),
        activityRetention: Duration? = .seconds(30 * 86_400),
        auditRetention: Duration? = .seconds(400 * 86_400),
        intakeLimit: Int = 20_000,
        intakeWait: Duration = .seconds(1),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        uptime: @escaping @Sendable () -> Duration = Self.processTime,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.bootstrapKey = bootstrapKey
        self.retryCap = retryCap
        self.lease = lease
        self.pushDeadline = pushDeadline
        self.pollInterval = pollInterval
        self.concurrentSegments = concurrentSegments
        self.ringSize = ringSize
        self.stretchSize = stretchSize
        self.eventRetention = eventRetention
        self.activityRetention = activityRetention
        self.auditRetention = auditRetention
        self.intakeLimit = intakeLimit
        self.intakeWait = intakeWait
        self.jitter = jitter
        self.uptime = uptime
        self.pause = pause
    }

    private static let beginning = ContinuousClock.now

    /// Since the process has first asked.
    @Sendable package static func processTime() -> Duration { beginning.duration(to: .now) }

    /// The waits between tries of the same push.
    var backoff: Backoff { Backoff(cap: retryCap, jitter: jitter) }
}
