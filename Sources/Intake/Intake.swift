import ActivityModel
package import DeliveryStore
import Logging
import Postgres
package import Record
package import Registry
package import ServiceLifecycle
package import Store

/// The room of accepting: judges what backends and apps post, and stores it. A 202 leaves after the commit.
///
/// - **What it does.** Each folder has one subject.
///   - `Starts`: starts of activities (`Intake+Start`), in groups (``StartGroup``).
///   - `Changes`: updates and ends (`Intake+Changes`), in groups (``ChangeGroup``); what waits for its time
///     (`Intake+Scheduling`); what the followers of an activity can decode (``Followers``).
///   - `Audience`: who is in an audience (`Intake+Audience`), also in long lists (`Intake+AudienceList`).
///   - `Reports`: devices (`Intake+Devices`), cards (`Intake+Subscriptions`) and receipts (`Intake+Receipts`), as apps
///     report them.
///   - `Pushes`: ordinary pushes (`Intake+Pushes`).
///   - `Batch`: many operations in one request (`Intake+Batch`).
///   - `DryRuns`: what a request would send (`Intake+DryRuns`).
///   - `Grouping`: requests that share a commit (``IntakeGroups``), and how many may wait (``IntakeLimit``).
/// - **Who calls it.** The HTTP API. The top runs schedules by it. It gives work to ``DeliveryStore``, and calls no
///   sender.
/// - **Tables that it alone writes.** None.
/// - **Tables that others write as well.**
///   - `activities` and `changes`: it inserts them. Sending stamps changes, and the top begins scheduled activities.
///   - `audience_members`, `audience_topics`: they are deleted after the end, and with a user.
///   - `segments`: it makes, wakes and leases them.
///   - `subscriptions` and `starts`: it stores what phones report of them.
///   - `devices`: a report of a card can make one.
///   - `schedules`: it inserts them, and the top runs them.
///   - `pushes`: it inserts them, and sending settles them.
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
    package var duty: any Service { groups }

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
