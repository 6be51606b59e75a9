import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// One transaction of the intake: lock, read, decide, write. Each change is judged on its own; one that is refused
/// changes nothing and does not disturb the others.
enum ChangeGroup {
    /// The answers and statements for changes that were judged.
    struct Judged {
        /// One per command, in their order; they hold when the statements are committed. ``StillLocked`` is the answer to
        /// one that was not judged.
        var answers: [Result<Replayable<ChangeAnswer>, any Error>] = []
        var statements: [Query] = []
        fileprivate var work: AcceptedWork?

        /// The work that the rows of the statements leave to send. They were sent at `time`.
        func work(_ rows: [Rows], sentAt time: ContinuousClock.Instant) throws -> AcceptedWork.Outcome {
            guard let work, let last = rows.last else { return AcceptedWork.Outcome() }
            return try work.outcome(last, sentAt: time)
        }
    }

    /// Locks, reads and decides. Leases at most `leasing` rings for this daemon to serve, as `segments` says. Nil:
    /// leases no ring, because nothing will be committed.
    ///
    /// `isPatient`: waits for activities that somebody else has locked. Otherwise their commands are not judged.
    ///
    /// - Returns: What is to be written and committed.
    /// - Throws: Errors of the database.
    static func judge(
        _ commands: [ChangeCommand],
        skews: ClockSkewWatch,
        segments: SegmentStore,
        leasing limit: Int?,
        isPatient: Bool,
        on connection: PostgresConnection
    ) async throws -> Judged {
        let keys = commands.compactMap(\.idempotencyKey)
        let selection = IntakeDesk.selection(commands, isPatient: isPatient)
        let reading = keys.isEmpty ? [] : [KeptAnswers<ChangeAnswer>.selection(keys)]
        var judged = Judged()
        let rows = try await connection.pipeline([.planningOnce] + selection + reading)
        var desk = try IntakeDesk(Array(rows[1...selection.count]))
        let skew = desk.clockSkew(skews)
        var kept = try KeptAnswers<ChangeAnswer>(keys.isEmpty ? nil : rows.last)
        for command in commands {
            judged.answers.append(
                Result {
                    if let key = command.idempotencyKey, let answer = try kept.answer(to: key) {
                        return Replayable(answer, isReplay: true)
                    }
                    let given = try desk.judge(command)
                    if let key = command.idempotencyKey { kept.keep(given.answer, for: key) }
                    return given
                }
            )
        }
        let carriedOut = zip(commands, judged.answers).compactMap { command, result in
            if case .success = result { command } else { nil }
        }
        let settled = carriedOut.compactMap(\.scheduleID)
        judged.work = limit.flatMap { desk.work(leasing: $0, for: segments) }
        judged.statements =
            desk.statements(sentWithRing: judged.work?.sentWithRing ?? []) + carriedOut.flatMap(\.records)
        if !settled.isEmpty {
            judged.statements.append(ScheduleRows.settlement(of: settled))
        }
        judged.statements += desk.cancellations + desk.signsOfLife + kept.statements
        if let skew { judged.statements.append(EventRows.insertion([skew])) }
        // Last, because whoever serves a ring waits for its row.
        if let work = judged.work { judged.statements.append(work.statement) }
        return judged
    }
}

/// The activities of a group as they stand, and what has been accepted of them so far.
private struct IntakeDesk {
    private struct Place {
        var now: Timestamp { readAt.microseconds / 1_000_000 }
        /// Whether its only segment is a ring at rest with riders.
        var isPlainRing: Bool { segments.count == 1 && segments[0].rest?.isPlainRing == true }
        var machine: ActivityStateMachine
        /// The newest alert that some destinations may not have heard.
        var ridingAlert: AlertContent?
        var openBarrierAlerts: [AlertContent] = []
        /// What ``StandingRow/startAlert`` says.
        let startAlert: AlertContent?
        /// The stamp of the newest revision; nil until it has one.
        var timestamp: Timestamp?
        let readAt: PGTimestamp
        /// How far the ring has come by which alerts and barriers are known.
        let completed: Revision
        /// In ascending order. None is added or divided while the activity is locked.
        var segments: [StandingRow.Segment]

        init(_ row: StandingRow) throws {
            machine = ActivityStateMachine(state: row.state, standing: try row.standing)
            ridingAlert = try row.ridingAlert
            openBarrierAlerts = try row.barrierAlerts
            startAlert = try row.startAlert
            timestamp = row.timestamp
            readAt = row.now
            completed = row.completed
            segments = row.segments
        }

        /// Takes the step of an update to the content state `settled`.
        ///
        /// - Returns: What is to be written; nil: the state is the newest one already.
        /// - Throws: 409 after the end or for a late event; 422 for one of the future; 429 `too_many_must_deliver`.
        mutating func update(_ command: ChangeCommand, to settled: JSONValue?) throws(Problem) -> ChangeToStore? {
            // Every update brings a content state.
            guard case .update(let request) = command.body, let settled else { throw .internalError() }
            let urgency = request.urgency
            // The revision alone makes no change.
            let contentState = command.policy.aligning(settled, with: machine.standing.contentState)
            let rule = command.policy.rule(from: machine.standing.contentState, to: contentState)
            var update = ActivityStateMachine.Update(contentState: contentState)
            update.hasAlert = command.alert != nil
            update.mustDeliver = request.mustDeliver || (urgency == nil && rule?.mustDeliver == true)
            update.force = request.force
            update.eventTime = request.eventTime?.microseconds
            update.at = command.at?.unixSeconds
            update.isScheduled = command.scheduleID != nil
            switch machine.update(update, now: now) {
            case .accept(let revision, let timestamp):
                return ChangeToStore(
                    activityKey: command.activity.key,
                    revision: revision,
                    kind: .update,
                    contentState: CompactJSON(command.policy.filling(contentState, with: revision)),
                    urgency: urgency ?? rule?.urgency ?? .routine,
                    mustDeliver: update.mustDeliver,
                    minimumIntervalSeconds: urgency == nil && !update.hasAlert && !update.mustDeliver
                        ? rule?.minimumIntervalSeconds : nil,
                    timestamp: timestamp,
                    command: command
                )
            case .unchanged: return nil
            case .refuseEnded: throw .activityEnded()
            case .refuseFutureEvent: throw .futureEvent(limit: ActivityStateMachine.maximumEventLead)
            case .refuseLateEvent(let newest): throw .lateEvent(newest: Instant(microseconds: newest))
            case .refuseTooManyMustDeliver:
                throw .tooManyMustDeliver(limit: ActivityStateMachine.maximumOpenBarriers, retryAfter: 1)
            }
        }

        /// Takes the step of an end; without a content state it keeps the newest accepted one.
        ///
        /// - Returns: What is to be written; nil: the activity has ended like this already.
        /// - Throws: 409 after an end with another content state.
        mutating func end(_ command: ChangeCommand, with contentState: JSONValue?) throws(Problem) -> ChangeToStore? {
            let standing = machine.standing.contentState
            let contentState = contentState.map { command.policy.aligning($0, with: standing) } ?? standing
            switch machine.end(contentState: contentState, now: now) {
            case .accept(let revision, let timestamp):
                return ChangeToStore(
                    activityKey: command.activity.key,
                    revision: revision,
                    kind: .end,
                    contentState: CompactJSON(command.policy.filling(contentState, with: revision)),
                    urgency: .critical,
                    mustDeliver: false,
                    timestamp: timestamp,
                    command: command
                )
            case .repeated: return nil
            case .refuseEnded: throw .activityEnded()
            }
        }

        /// The answer to a change that leaves the newest revision as it is.
        func standingAnswer(to command: ChangeCommand, unchanged: Bool) -> ChangeAnswer {
            .accepted(
                activityID: command.activityID,
                revision: machine.standing.revision,
                timestamp: timestamp,
                unchanged: unchanged
            )
        }

        /// A change was accepted: destinations may still have to hear its alert.
        mutating func accepted(_ change: ChangeToStore) {
            timestamp = change.timestamp
            guard let alert = change.command.alert else { return }
            ridingAlert = alert
            if change.mustDeliver { openBarrierAlerts.append(alert) }
        }
    }

    private var places: [Int64: Place] = [:]
    /// Activities that are there, and locked by somebody else.
    private var locked: Set<Int64> = []
    private var followers: Followers
    /// Schedules that are still to be run; another daemon may have been faster.
    private var openSchedules: Set<String> = []
    private var accepted: [ChangeToStore] = []
    private var eventTimes: [Int64: Int64] = [:]
    /// Activities whose newest state came again.
    private var heard: Set<Int64> = []

    /// The statements whose rows ``init(_:)`` reads.
    static func selection(_ commands: [ChangeCommand], isPatient: Bool) -> [Query] {
        let keys = Array(Set(commands.map(\.activity.key))).sorted()
        let schedules = commands.compactMap(\.scheduleID)
        // Locked in the order of their keys, so that two groups never wait for each other; read in a second statement,
        // whose snapshot is younger than the locks.
        return [
            TypeVersionRows.hold(commands.map(\.type)),
            ActivityRows.hold(keys, isPatient: isPatient),
            StandingRow.selection(keys),
            AppVersionRows.selection(keys),
        ] + (schedules.isEmpty ? [] : [ScheduleRows.hold(runnable: schedules)])
    }

    init(_ rows: [Rows]) throws {
        followers = try Followers(types: rows[0], rows: rows[3])
        openSchedules = rows.count > 4 ? Set(try rows[4].decoded(as: String.self)) : []
        let held = Set(try rows[1].decoded(as: Int64.self))
        for row in rows[2] {
            let row = try StandingRow(row)
            guard held.contains(row.activityKey) else {
                locked.insert(row.activityKey)
                continue
            }
            guard let known = places[row.activityKey] else {
                places[row.activityKey] = try Place(row)
                continue
            }
            // The ring that is furthest behind knows all that some destinations have not heard.
            var place = row.completed < known.completed ? try Place(row) : known
            place.segments = (known.segments + row.segments).sorted { $0.number < $1.number }
            places[row.activityKey] = place
        }
    }

    /// The event to write if the clock is behind what has been stamped.
    func clockSkew(_ skews: ClockSkewWatch) -> Event? {
        for (key, place) in places {
            let event = skews.event(activityKey: key, now: place.now, lastStamp: place.machine.standing.lastTimestamp)
            if let event { return event }
        }
        return nil
    }

    mutating func judge(_ command: ChangeCommand) throws -> Replayable<ChangeAnswer> {
        if locked.contains(command.activity.key) { throw StillLocked() }
        guard var place = places[command.activity.key] else { throw Problem.notFound("the activity") }
        if let schedule = command.scheduleID, !openSchedules.contains(schedule) {
            throw Problem.notFound("the pending schedule")
        }
        try followers.check(command.type)
        for follower in command.unused { followers.forget(follower) }
        let settled = try command.contentState.map { try followers.settle($0, of: command.activity) }
        var change: ChangeToStore
        switch command.body {
        case .update:
            guard let update = try place.update(command, to: settled?.content) else {
                keep(place, of: command)
                heard.insert(command.activity.key)
                return Replayable(place.standingAnswer(to: command, unchanged: true), isReplay: false)
            }
            change = update
        case .end:
            guard let end = try place.end(command, with: settled?.content) else {
                return Replayable(place.standingAnswer(to: command, unchanged: false), isReplay: true)
            }
            change = end
            // The state was measured with its own revision. If it has no room for another digit, it stays as it is.
            if settled == nil, BodySizes.excess(of: end.contentState, in: Self.combination(of: end, in: place)) != nil {
                change.contentState = CompactJSON(place.machine.standing.contentState)
            }
        }
        try BodySizes.check(change.contentState, in: Self.combination(of: change, in: place))
        place.accepted(change)
        keep(place, of: command)
        accepted.append(change)
        if let settled {
            followers.accepted(settled, by: command.type, of: command.activity.key, as: change.revision)
        }
        if change.kind == .end { followers.ended(command.activity.key, as: change.revision) }
        let answer = ChangeAnswer.accepted(
            activityID: command.activityID,
            revision: change.revision,
            timestamp: change.timestamp,
            unchanged: false
        )
        return Replayable(answer, isReplay: false)
    }

    /// Keeps the state after a change: the next change of the group is judged by it, and it will be written.
    private mutating func keep(_ place: Place, of command: ChangeCommand) {
        places[command.activity.key] = place
        eventTimes[command.activity.key] = place.machine.standing.eventTime
    }

    /// What the state of a change may be combined with.
    private static func combination(of change: ChangeToStore, in place: Place) -> BodySizes.Combination {
        let facts = change.command.activity
        var combination = BodySizes.Combination(
            type: facts.typeName,
            attributes: facts.attributes,
            delivery: facts.delivery
        )
        combination.startAlert = place.startAlert ?? facts.startAlert
        combination.alerts =
            [change.command.alert, place.ridingAlert].compactMap { $0 } + place.openBarrierAlerts
        combination.isEnd = change.kind == .end
        combination.hints = change.command.hints
        return combination
    }

    /// What is to be written, in the order in which the foreign keys want it. The newest changes of some activities count
    /// as sent once their first ring has completed them.
    func statements(sentWithRing: Set<Int64>) -> [Query] {
        var statements: [Query] = []
        if !accepted.isEmpty {
            statements.append(insertion(sentWithRing: sentWithRing))
        }
        let keys = Array(eventTimes.keys).sorted()
        if !keys.isEmpty || !accepted.isEmpty {
            let touched = Array(Set(keys + accepted.map(\.activityKey))).sorted()
            statements.append(standing(of: touched))
        }
        statements += followers.statements
        return statements
    }

    /// The work of the accepted changes; nil without any. Leases at most `limit` rings.
    func work(leasing limit: Int, for segments: SegmentStore) -> AcceptedWork? {
        guard !accepted.isEmpty else { return nil }
        // An end concerns more than those who ride, and where versions come and go cards are moved first.
        let others = followers.changedKeys.union(accepted.filter { $0.kind != .update }.map(\.activityKey))
        let ended = Set(accepted.filter { $0.kind == .end }.map(\.activityKey))
        var work = AcceptedWork(leasing: limit, for: segments)
        for (key, changes) in Dictionary(grouping: accepted, by: \.activityKey).sorted(by: { $0.key < $1.key }) {
            guard let place = places[key], let newest = changes.last else { continue }
            let isRoutine = !others.contains(key) && changes.allSatisfy(\.isStateAlone)
            work.add(
                AcceptedWork.Accepted(
                    activityKey: key,
                    revision: newest.revision,
                    concernsAll: others.contains(key),
                    isEnd: ended.contains(key),
                    routine: isRoutine
                        ? newest.routineUpdate(readAt: place.readAt, isSentWithRing: place.isPlainRing) : nil
                ),
                to: place.segments
            )
        }
        return work
    }

    /// After the end nothing is scheduled any more. To be run when the schedules that brought the end are settled.
    var cancellations: [Query] {
        let ended = accepted.filter { $0.kind == .end }.map(\.activityKey)
        guard !ended.isEmpty else { return [] }
        return [ScheduleRows.cancellation(ofEnded: ended)]
    }

    /// An accepted change puts the silence limit of its activity off by itself; its newest state does so by this. To be
    /// run when the transaction will wait for no schedule any more.
    var signsOfLife: [Query] {
        heard.isEmpty ? [] : [ScheduleRows.signOfLife(of: heard.sorted())]
    }

    private func insertion(sentWithRing: Set<Int64>) -> Query {
        let newest = Dictionary(accepted.map { ($0.activityKey, $0.revision) }, uniquingKeysWith: max)
        let commands = accepted.map(\.command)
        var columns: [RowColumn] = [
            .each("activity_key", accepted.map(\.activityKey)),
            .each("revision", accepted.map(\.revision)),
            .usually(ChangeKind.update.rawValue, "kind", accepted.map(\.kind.rawValue)),
            .each("content_state", accepted.map { JSONText($0.contentState.bytes) }),
            .rarely("alert", commands.map { $0.alert.map { JSONText($0.json.serialized()) } }),
            .usually(Urgency.routine.rawValue, "urgency", accepted.map(\.urgency.rawValue)),
            .usually(false, "must_deliver", accepted.map(\.mustDeliver)),
            .rarely("dismiss_after", accepted.map(\.dismissAfterSeconds)),
            .rarely("dismiss_at", accepted.map(\.dismissAt)),
            .rarely("event_time", commands.map { $0.eventTime?.stored }),
            .each("timestamp", accepted.map(\.timestamp)),
            .rarely("min_interval", accepted.map { $0.minimumIntervalSeconds.map(Int32.init) }),
            .each(
                "with_segment",
                accepted.map {
                    newest[$0.activityKey] == $0.revision && sentWithRing.contains($0.activityKey)
                }
            ),
            .each("request_id", commands.map { $0.origin?.requestID }),
            .rarely("traceparent", commands.map { $0.origin?.trace?.description }),
        ]
        columns += CardHints.rows(commands.map(\.hints))
        return ChangeRows.insertion(columns)
    }

    private func standing(of keys: [Int64]) -> Query {
        let standings = keys.map { places[$0]?.machine.standing }
        let ended = keys.map { places[$0]?.machine.state == .ended }
        return ActivityRows.advance([
            .each("activity_key", keys),
            .each("revision", standings.map { $0?.revision }),
            .each("stamp", standings.map { $0?.lastTimestamp }),
            .rarely("event_time", standings.map { $0?.eventTime }),
            .usually(false, "ended", ended),
        ])
    }
}
