package import Metrics
import Postgres
package import ServiceLifecycle
package import Store

/// The room between accepting and sending, for what waits to be sent. Accepting fills it, and sending empties it.
///
/// - **What it does.** Nothing leaves from here. Each folder has one subject.
///   - `Activities`: an activity as a worker sees it (``ActivitySnapshot``), with its audience and its halt.
///   - `Segments`: the destinations that one worker serves. A worker leases a segment, and stores how far it has come
///     (``SegmentStore``).
///   - `SmallSegments`: segments with so little to do that an accept leases them, and many are served together.
///     ``WakeUps`` hands them over.
///   - `Changes`: the changes with their stamps (``ChangeStore``), how they look in a push, and their priority
///     (``BudgetLedger``).
///   - `Schedules`: changes that wait for their time, and how they are claimed and settled (``ScheduleRows``).
///   - `Accepting`: what an accept reads of an activity to judge what was posted (``StandingRow``).
///   - `Starts`: the audience, how it becomes starts (`DeliveryStore+Enrolment`), and which apps can decode a start.
///   - `Pushes`: ordinary pushes (``QueuedPush``).
///   - `Erasure`: statements that forget a user, in bodies of starts and in audiences.
///   - `Answers`: how long changes take (``DeliveryTimes``).
///   - `Halts`: counts the answers of APNs, and says where sending stands still (``SendingHalts``). Operators see and
///     lift halts (`DeliveryStore+Halts`).
///   - `DueWork`: finds all kinds of work that are due, with one question, or is told (``WorkNotifications``).
/// - **Who calls it.** Accepting and sending. It calls neither.
/// - **Tables that it alone writes.** `activities`, `changes`, `audience_members`, `audience_topics`, `pushes`,
///   `schedules`, `budget_ledger`, `answer_counts`, `sending_halts`. Rooms above take its statements, such as those of
///   ``ActivityRows``, into their own.
///
/// One for the whole daemon, handed to accepting and to sending.
package struct DeliveryStore: Sendable {
    let store: Store
    /// Tells the dispatcher of this daemon that there is work.
    package let wakeUps: WakeUps
    /// Finds all kinds of work that are due.
    package let dueWork: DueWork
    /// Leases segments, and stores how far their workers have come.
    package let segments: SegmentStore
    /// Stamps changes, and reads them to be sent.
    package let changes: ChangeStore
    /// Decides the priority of pushes.
    package let ledger: BudgetLedger
    /// Says where sending stands still.
    package let halts: SendingHalts
    /// Measures how long changes take.
    package let times: DeliveryTimes

    package init(store: Store, metrics: any MetricsFactory) {
        let (database, settings) = (store.database, store.settings)
        self.store = store
        wakeUps = WakeUps(canSend: { [watch = store.masterKeyWatch] in !watch.cannotSend })
        dueWork = DueWork(database: database, settings: settings, logger: store.logger)
        // Twice, so that every other daemon has looked for work meanwhile.
        segments = SegmentStore(
            database: database,
            lease: settings.lease,
            patience: settings.pollInterval * 2,
            crowd: settings.stretchSize
        )
        changes = ChangeStore(database: database, skews: store.skews)
        ledger = BudgetLedger(database: database)
        halts = SendingHalts(
            database: database,
            batchSize: settings.stretchSize,
            pushLease: QueuedPush.lease(settings),
            uptime: settings.uptime,
            logger: store.logger
        )
        times = DeliveryTimes(factory: metrics)
    }

    var database: Database { store.database }

    /// Tells other daemons of work, and hears it from them.
    package var notifications: any Service { WorkNotifications(database: database, wakeUps: wakeUps) }
    /// Lifts halts, and sees to it that probes leave.
    package var haltPatrol: any Service { HaltPatrol(work: self) }
}
