import APITypes
import APNSTransport
import ActivityModel
import Postgres
import TestSupport

@testable import Channels
@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

extension Universe {
    /// What may happen next, and how often.
    private static let happenings: [(weight: Int, happening: Happening)] = [
        (14, .post), (2, .end), (2, .start), (2, .postAgain),
        (6, .launch), (9, .report), (3, .rotateUpdateToken), (1, .rotateStartToken), (1, .swipeAway),
        (14, .work), (60, .goOn), (4, .arrive),
        (10, .moment), (3, .while), (1, .long), (2, .kill), (1, .loseChannel), (1, .stepClock), (1, .tokensDie),
        (3, .updateApp), (4, .startOwnCard), (2, .leave), (3, .changeAudience), (3, .reportAgain),
        (12, .keepPartitions),
    ]

    /// The same in lives with topics.
    private static let happeningsWithTopics: [(weight: Int, happening: Happening)] =
        happenings + [(weight: 10, happening: Happening.follow)]

    /// The same in lives in which new cards continue old ones.
    private static let happeningsWithContinuations: [(weight: Int, happening: Happening)] =
        happenings + [(weight: 5, happening: Happening.hours)]

    private enum Happening {
        case post, end, start, postAgain, launch, report, rotateUpdateToken, rotateStartToken, swipeAway
        case work, goOn, arrive, moment, `while`, long, kill, loseChannel, stepClock, tokensDie, updateApp
        case startOwnCard, leave, changeAudience, reportAgain, keepPartitions, follow, hours
    }

    /// A life of so many steps, each of them by chance; at least one match is played, and at most three.
    func live(steps: Int) async throws {
        if storm != nil {
            try await gather()
        } else {
            try await launchApp()
            try await startMatch()
        }
        if isLarge { try await fill() }
        apple.with { $0.isHindered = true }
        for step in 0..<steps {
            if let storm { try await weather(at: step, storm) }
            if let outage { try await refuse(at: step, outage) }
            if outage?.contains(step) != true { try await happen() }
            try await replaceTheDead()
            try await checkTurnsEnd()
            try checkOwners()
        }
    }

    /// A match that every phone of the crowd follows by token.
    private func gather() async throws {
        apple.with { $0.areFaultsOn = false }
        for phone in 0..<apple.with({ $0.phones.count }) { try await launchApp(of: phone) }
        try await startMatch(for: Audience(allOfType: true), by: .tokens)
        try await settle()
        while !reportsDue.isEmpty { try await report() }
        try await settle()
        apple.with { $0.areFaultsOn = true }
    }

    private func weather(at step: Int, _ storm: Range<Int>) async throws {
        if step == storm.lowerBound {
            note("Apple rejects every token")
            apple.with { $0.isStorm = true }
            try await post(.update)
        }
        if step == storm.upperBound { endStorm() }
    }

    /// Nothing reaches Apple, and the backend posts more than ever: what does that make of the pauses?
    private func refuse(at step: Int, _ outage: Range<Int>) async throws {
        if step == outage.lowerBound {
            note("Apple takes nothing")
            apple.with { $0.isOutage = true }
        }
        if step == outage.upperBound { endOutage() }
        guard outage.contains(step) else { return }
        try await post(.update)
        if chance(20) { try await launchApp() }
        if chance(20) { try await report() }
        try await work()
        while let actor = stage.waiting.first { await stage.goOn(actor) }
        try await pass(milliseconds: .random(in: 100...1_000, using: &random))
    }

    private func endOutage() {
        guard apple.with({ $0.isOutage }) else { return }
        note("Apple takes pushes again")
        apple.with { $0.isOutage = false }
    }

    private func endStorm() {
        guard apple.with({ $0.isStorm }) else { return }
        note("Apple takes tokens again")
        apple.with { $0.isStorm = false }
    }

    private func happen() async throws {
        let happenings =
            hasTopics
            ? Self.happeningsWithTopics : hasContinuations ? Self.happeningsWithContinuations : Self.happenings
        var draw = Int.random(in: 0..<happenings.reduce(0) { $0 + $1.weight }, using: &random)
        for (weight, happening) in happenings {
            draw -= weight
            if draw < 0 { return try await happen(happening) }
        }
    }

    private func happen(_ happening: Happening) async throws {
        switch happening {
        case .post: try await post(.update)
        case .end: if chance(30) { try await post(.end) }
        case .start: if matches.count < 3 { try await startMatch() }
        case .postAgain: try await postAgain()
        case .launch: try await launchApp()
        case .report: try await report()
        case .rotateUpdateToken: rotateUpdateToken()
        case .rotateStartToken: rotateStartToken()
        case .swipeAway: swipeAway()
        case .work: try await work()
        case .goOn: await goOn()
        case .arrive: apple.with { $0.handOnLate() }
        case .moment: try await pass(milliseconds: .random(in: 1...1_500, using: &random))
        case .while: try await pass(milliseconds: .random(in: 1_500...40_000, using: &random))
        case .long: try await pass(milliseconds: .random(in: 40_000...2_000_000, using: &random))
        case .kill: kill()
        case .loseChannel:
            if chance(30), let channel = apple.with({ $0.loseChannel() }) { note("Apple loses \(channel)") }
        case .stepClock:
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3: try await stepClock(by: -.random(in: 1...3_000, using: &random))
            case 3: try await stepClock(by: -.random(in: 3_000...90_000, using: &random))
            case 4: try await stepClock(by: .random(in: 1_000...600_000, using: &random))
            default: break
            }
        case .tokensDie: if chance(20) { rotateMany(percent: 30) }
        case .updateApp: if hasTwoVersions { try await updateApp() }
        case .startOwnCard: try await startOwnCard()
        case .leave: if chance(40) { try await leave() }
        case .changeAudience: try await changeAudience()
        case .reportAgain: try await reportAgain()
        case .keepPartitions: await keepPartitions()
        case .follow: try await follow()
        case .hours: try await passHours()
        }
    }

    private func kill() {
        let daemon = anyDaemon()
        if chance(50) { daemon.kill() } else { daemon.kill(afterMoments: .random(in: 1...6, using: &random)) }
        note("\(daemon.name) is killed")
    }

    // MARK: The daemons' work

    /// A daemon looks for work, and begins what it finds.
    private func work() async throws {
        let daemon = anyDaemon()
        do {
            let orchestrator = daemon.orchestrator
            // Whatever was seen of them is out of date: in a run there are steps between a look and a push.
            let handed = orchestrator.deliveryStore.wakeUps.takeLeases(2).map(\.lease)
            try await orchestrator.deliveryStore.segments.takeAnnouncements()
            for lease in try await handed + orchestrator.deliveryStore.segments.claim(limit: 2) {
                let actor = Stage.Actor(daemon: daemon.name, number: number())
                note("\(actor) takes segment \(lease.segment) of \(lease.activityKey)")
                let turn = turn(actor.number)
                await stage.begin(actor) { [apple] in await Self.serve(lease, of: orchestrator, apple, turn) }
            }
            if chance(hasContinuations ? 60 : 20) { try await lookAfter(orchestrator) }
        } catch is PostgresError {
            // It has died meanwhile.
        }
    }

    /// The duties of a daemon besides its segments.
    private func lookAfter(_ orchestrator: Orchestrator) async throws {
        while try await ScheduleRunner(orchestrator: orchestrator).runDue() {}
        // One activity after the other, and no timer, so that one seed is one order of events.
        if hasContinuations {
            try await OldCards.claim(orchestrator.delivery).send(atOnce: 1, patience: .seconds(3_600))
        }
        let look = try await CardWatcher(room: orchestrator.delivery).look(mostWakes: CardWatcher.wakesAtOnce)
        for wakes in look.wakes { await wakes.send() }
        let sweeper = ChannelSweeper(room: orchestrator.channelRoom)
        try await sweeper.sweepDue()
        try await sweeper.deleteDue()
        try await orchestrator.deliveryStore.halts.share()
        try await HaltPatrol(work: orchestrator.deliveryStore).look()
    }

    /// What a worker does, apart from keeping its lease: time passes between its steps as the simulation says.
    private static func serve(_ lease: SegmentLease, of orchestrator: Orchestrator, _ apple: Apple, _ turn: Turn) async
    {
        await Turn.$current.withValue(turn) {
            do {
                try await Self.work(on: lease, of: orchestrator)
            } catch {
                apple.with { _ = $0.brokenTurns.insert(turn.number) }
                // Where the lease is lost, another daemon goes on.
                if !(error is LeaseLost) {
                    // Without a database the lease runs out.
                    try? await SegmentWorker(room: orchestrator.delivery, slot: nil, lease: lease).rescue()
                }
            }
        }
    }

    /// Serves one segment as its group does, but for the timers by which a group stores answers and keeps leases.
    private static func work(on lease: SegmentLease, of orchestrator: Orchestrator) async throws {
        let group = SegmentGroup(room: orchestrator.delivery, slot: nil, segments: [LeasedSegment(lease: lease)])
        switch try await orchestrator.deliveryStore.segments.smallSegments(among: [lease]).first {
        case .update(let update):
            let answer = try await group.push(update)
            if answer.isComplete {
                _ = try await orchestrator.deliveryStore.segments.complete([update])
            } else {
                try await group.settleUpdate(update, answer)
            }
        case .channel(let wanted):
            switch try await group.make(wanted) {
            case .made(let made): _ = try await group.storeOrGiveBack([made])
            case .notMade(let outcome): try await group.settleChannel(wanted, outcome)
            case .exceptions, .broadcast: break
            }
        case nil: _ = try await SegmentWorker(room: orchestrator.delivery, slot: nil, lease: lease).work()
        }
    }

    private func turn(_ number: Int) -> Turn { Turn(number: number, since: now, uptime: apple.with { $0.uptime }) }

    private func goOn() async {
        guard let actor = stage.waiting.randomElement(using: &random) else { return }
        await stage.goOn(actor)
    }

    // MARK: The end of all faults

    /// Faults stop, the apps report what is due, and so much time passes as the promises allow: the longest wait
    /// between two tries and 5 s (promise 2), after the repeat of starts that are in doubt.
    func calmDown() async throws {
        note("the faults stop")
        endStorm()
        endOutage()
        apple.with { ($0.areFaultsOn, $0.isHindered) = (false, false) }
        for daemon in daemons where daemon.isDoomed { daemon.kill() }
        while let actor = stage.waiting.first { await stage.goOn(actor) }
        try await replaceTheDead()
        while !unanswered.isEmpty { try await postAgain() }
        try await goOnCalmly()
        try await waitForProbes()
        let end = now + Self.patience + steppedBack
        while now < end {
            try await pass(milliseconds: min(try await millisecondsUntilWork(), end - now))
            try await goOnCalmly()
        }
    }

    /// So much time passes that the repeat for phones which were started late has left (promise 2).
    func waitForLateStarts() async throws {
        let rows = try await clock.database.query(
            "SELECT floor(extract(epoch FROM max(starts_until)) * 1000)::bigint FROM channels WHERE lost_at IS NULL"
        )
        let end = max(now, try rows.first(as: Int64?.self).flatMap { $0 } ?? now) + 35_000
        while now < end {
            try await pass(milliseconds: min(try await millisecondsUntilWork(), end - now))
            try await goOnCalmly()
        }
    }

    func goOnCalmly() async throws {
        apple.with { state in
            while !state.late.isEmpty { state.handOnLate() }
        }
        for _ in 0..<200 where !reportsDue.isEmpty { try await report() }
        try await settle()
    }

    /// Where sending is halted, a few pushes are tried now and then, at the latest every 15 minutes (promise 9).
    private func waitForProbes() async throws {
        let end = now + 900_000 + Self.patience + steppedBack
        while try await isHalted() {
            guard now < end else { throw BrokenPromise(9, "Apple takes tokens again, and sending is still halted") }
            try await pass(milliseconds: 5_000)
            try await goOnCalmly()
        }
    }

    var tables: EngineTables { EngineTables(clock.database) }

    func isHalted() async throws -> Bool {
        try await tables.isHalted()
    }

    /// Milliseconds in which everything must be well: starts in doubt are repeated after 20 s, then come the longest
    /// wait between two tries and 5 s, twice, because what a start brings has to be sent, too.
    private static let patience: Int64 = 90_000

    /// How long it is until a lease ends or something is due; at least 1 s.
    private func millisecondsUntilWork() async throws -> Int64 {
        let rows = try await clock.database.query(
            """
            SELECT floor(extract(epoch FROM min(at)) * 1000)::bigint FROM (
                SELECT greatest(due_at, lease_until) AS at FROM schedules WHERE state = 'pending'
                UNION ALL SELECT delete_at FROM channels WHERE state IN ('ready', 'deleting')
            ) AS dates
            """
        )
        let dates = [try rows.first(as: Int64?.self) ?? nil, try await tables.nextWork()]
        guard let next = dates.compactMap(\.self).min() else { return Self.patience }
        return max(next + 1 - now, 1_000)
    }

    /// All that is due now is done, by one daemon after the other.
    func settle() async throws {
        for round in 0..<200 {
            try await checkTurnsEnd()
            let orchestrator = daemons[round % daemons.count].orchestrator
            try await lookAfter(orchestrator)
            let handed = orchestrator.deliveryStore.wakeUps.takeLeases(100).map(\.lease)
            try await orchestrator.deliveryStore.segments.takeAnnouncements()
            let leases = try await handed + orchestrator.deliveryStore.segments.claim(limit: 100)
            if leases.isEmpty { return }
            for lease in leases {
                await Self.serve(lease, of: orchestrator, apple, turn(number()))
            }
        }
        throw BrokenPromise(2, "the segments never come to rest")
    }
}
