import APITypes
import ActivityModel
import DeliveryStore
import Logging
import Postgres
import Registry
import ServiceLifecycle
import Store

/// Accepts starts, updates, ends, reports of cards, receipts and registrations in groups, and reads the facts of their
/// activities in groups.
package final class IntakeGroups: Service, CustomStringConvertible {
    /// Those of one activity are accepted in their order, and are never in one group.
    let starts: GroupedWork<ActivityFacts.Name, StartCommand, StartGroup.Stored>
    /// Starts with a large audience. Each has a transaction of its own, so that nobody else waits for its rows.
    let largeStarts: GroupedWork<ActivityFacts.Name, StartCommand, StartGroup.Stored>
    /// Accepted in the order of each activity.
    let changes: GroupedWork<Int64, ChangeCommand, Replayable<ChangeAnswer>>
    /// Accepted in the order of each device; a device is not twice in a group.
    let reports: GroupedWork<ReportedCard.Device, CardReport, SubscriptionAnswer>
    /// Accepted in the order of each device, as reports of cards are.
    let registrations: GroupedWork<ReportedCard.Device, RegistrationGroup.Request, StoredReport>
    /// Stored in the order of each device.
    let receipts: GroupedWork<ReportedCard.Device, ReceiptGroup.Request, [DeliveryTimes.Shown]>
    /// Facts of activities; nil for an id that names none.
    let facts: GroupedWork<ActivityFacts.Name, ActivityFacts.Name, ActivityFacts?>

    init(store: Store, work: DeliveryStore) {
        let (database, skews, logger) = (store.database, store.skews, store.logger)
        let (wakeUps, segments) = (work.wakeUps, work.segments)
        starts = GroupedWork(
            "accepting starts",
            .init(groupSize: 100, lanes: 3, worthALane: 16, takesWholeLines: false),
            logger: logger
        ) { starts, isPatient in
            try await StartGroup.accept(
                starts,
                in: database,
                for: segments,
                waking: wakeUps,
                isPatient: isPatient
            )
        }
        largeStarts = GroupedWork(
            "accepting large starts",
            // Few connections: changes need the others.
            .init(groupSize: 1, lanes: 2, worthALane: 1, takesWholeLines: false),
            logger: logger
        ) { starts, isPatient in
            try await StartGroup.accept(
                starts,
                in: database,
                for: segments,
                waking: wakeUps,
                isPatient: isPatient
            )
        }
        changes = GroupedWork(
            "accepting changes",
            .init(groupSize: 500, lanes: 3, worthALane: 16, takesWholeLines: true),
            logger: logger
        ) { commands, isPatient in
            let room = wakeUps.reserve(commands.count)
            defer { wakeUps.giveBack(room) }
            return try await database.withTransaction { connection in
                let judged = try await ChangeGroup.judge(
                    commands,
                    skews: skews,
                    segments: segments,
                    leasing: room,
                    isPatient: isPatient,
                    on: connection
                )
                if !judged.statements.isEmpty {
                    let sentAt = ContinuousClock.now
                    let work = try judged.work(await connection.commit(judged.statements), sentAt: sentAt)
                    wakeUps.handOver(work.leases)
                    if work.hasMore { wakeUps.signalAll() }
                }
                return judged.answers
            }
        }
        reports = GroupedWork(
            "taking reports of cards",
            .init(groupSize: 250, lanes: 3, worthALane: 16, takesWholeLines: false),
            logger: logger
        ) { reports, isPatient in
            try await ReportGroup.accept(reports, in: database, waking: wakeUps, isPatient: isPatient)
        }
        registrations = GroupedWork(
            "registering devices",
            .init(groupSize: 250, lanes: 3, worthALane: 16, takesWholeLines: false),
            logger: logger
        ) { requests, _ in
            try await RegistrationGroup.accept(requests)
        }
        receipts = GroupedWork(
            "taking receipts",
            .init(groupSize: 100, lanes: 1, worthALane: 16, takesWholeLines: false),
            logger: logger
        ) { requests, _ in
            try await ReceiptGroup.accept(requests, in: database)
        }
        facts = GroupedWork(
            "reading activities",
            .init(groupSize: 500, lanes: 2, worthALane: 16, takesWholeLines: true),
            logger: logger
        ) { names, _ in
            let facts = try await ActivityFacts.read(names, from: database)
            return names.map { .success(facts[$0]) }
        }
    }

    package var description: String { "intake" }

    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.starts.run() }
            group.addTask { await self.largeStarts.run() }
            group.addTask { await self.changes.run() }
            group.addTask { await self.reports.run() }
            group.addTask { await self.registrations.run() }
            group.addTask { await self.receipts.run() }
            group.addTask { await self.facts.run() }
        }
    }
}
