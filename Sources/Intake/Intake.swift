import ActivityModel
package import DeliveryStore
import Logging
import Postgres
package import Record
package import Registry
package import Store

/// The room of accepting: judges what backends and apps post, and stores it. A 202 leaves after the commit.
///
/// - **What it does.** Its operations are in the extensions of this type.
///   - `Intake+Start`: starts of activities, in groups (``StartGroup``).
///   - `Intake+Changes`: updates and ends, in groups (``ChangeGroup``). ``Followers`` knows what phones can decode.
///   - `Intake+Scheduling`: keeps a change until its time.
///   - `Intake+Audience` and `Intake+AudienceList`: who is in an audience.
///   - `Intake+Pushes`: ordinary pushes.
///   - `Reports`: what apps report of devices, cards and receipts.
///   - `Erasure`: what is forgotten of a user.
///   - `Batch`: many operations in one request.
///   - `DryRuns`: what a request would send.
///   - `Grouping`: requests that share a commit (``IntakeGroups``). ``IntakeLimit`` says how many may wait.
/// - **Who calls it.** The HTTP API, and the top when it runs a schedule. It gives work to ``DeliveryStore``, and knows
///   no sender.
/// - **Tables that it alone writes.** None. What it accepts, it reads and stores with statements of the rooms below,
///   several of them in one round trip.
///
/// One for the whole daemon.
package final class Intake: Sendable {
    let store: Store
    let registry: Registry
    let record: Record
    let work: DeliveryStore
    /// What a registration means to activities.
    let activities: any ActivityKeeper
    let groups: IntakeGroups
    /// The unchanging facts of activities, by their ids.
    let facts: ExpiringCache<ActivityFacts.Name, ActivityFacts>

    /// - Parameters:
    ///   - store: What is written, and how.
    ///   - registry: Knows the types.
    ///   - record: Reads activities, for dry runs.
    ///   - work: Is given what is to be sent.
    ///   - activities: Carries out what a registration means to activities.
    package init(
        store: Store,
        registry: Registry,
        record: Record,
        work: DeliveryStore,
        activities: any ActivityKeeper
    ) {
        self.store = store
        self.registry = registry
        self.record = record
        self.work = work
        self.activities = activities
        groups = IntakeGroups(store: store, work: work)
        facts = ExpiringCache(lifetime: .seconds(60), limit: 100_000) { ContinuousClock().now }
    }

    /// Accepts what is posted, until the daemon stops.
    package var duty: IntakeGroups { groups }

    /// An app was deleted: its activities are not known any more.
    package func forgetActivities() { facts.removeAll() }
}

// What this room uses of those below.
extension Intake {
    var database: Database { store.database }
    var settings: OrchestratorSettings { store.settings }
    var logger: Logger { store.logger }
    var signing: SigningIdentities { store.signing }
    var timeline: Timeline { store.timeline }
    var wakeUps: WakeUps { work.wakeUps }
    var segments: SegmentStore { work.segments }
}
