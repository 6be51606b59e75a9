package import APITypes
package import ActivityModel
import DeliveryStore
import Postgres
import Registry
package import Store

extension Intake {
    /// Accepts a new state of an activity, or schedules it if its time is to come.
    ///
    /// - Throws: 404 for an unknown activity, 409 `activity_ended` or `late_event`, 422 for content that the type
    ///   refuses or that is too large and for an event of the future, 429 `too_many_must_deliver`. Nothing is changed then.
    package func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotency: IdempotencyKey? = nil,
        origin: RequestOrigin?
    ) async throws -> Replayable<ChangeAnswer> {
        try await change(app, id, to: .update(request), idempotency, origin)
    }

    /// Accepts the end of an activity, or schedules it if its time is to come. The end is final.
    ///
    /// - Throws: As ``update(_:_:_:idempotency:origin:)``.
    package func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotency: IdempotencyKey? = nil,
        origin: RequestOrigin?
    ) async throws -> Replayable<ChangeAnswer> {
        try await change(app, id, to: .end(request), idempotency, origin)
    }

    private func change(
        _ app: BundleID,
        _ id: ActivityID,
        to body: RequestedChange.Body,
        _ key: IdempotencyKey?,
        _ origin: RequestOrigin?
    ) async throws -> Replayable<ChangeAnswer> {
        let key = key.map { IdempotencyKey.Deferred($0) }
        let change = RequestedChange(app: app, id: id, body: body, idempotencyKey: key, origin: origin)
        return try (await accept([change]).first ?? .failure(Problem.internalError())).get()
    }

    /// Accepts changes, each judged on its own; those of one activity in their order.
    ///
    /// - `limit`: how much may wait; nil: what is set.
    /// - Returns: One answer for each, as ``update(_:_:_:idempotency:origin:)`` gives or throws it.
    package func accept(
        _ changes: [RequestedChange],
        within limit: IntakeLimit? = nil
    ) async -> [Result<Replayable<ChangeAnswer>, any Error>] {
        let limit = limit ?? intakeLimit
        let answers = await registry.withCurrentTypes(changes) { await judge($0, within: limit) }
        for (change, answer) in zip(changes, answers) {
            if case .failure(let problem as Problem) = answer, (400..<500).contains(problem.status) {
                tell(problem, refusing: change)
            }
        }
        return answers
    }

    /// A change that was judged by an outdated type fails with ``OutdatedType``.
    private func judge(
        _ changes: [RequestedChange],
        within limit: IntakeLimit,
        isAgain: Bool = false
    ) async -> [Result<Replayable<ChangeAnswer>, any Error>] {
        let facts = await facts(of: changes.map(\.name))
        let backlog = groups.changes.backlog
        var answers: [Result<Replayable<ChangeAnswer>, any Error>] = []
        var commands: [(place: Int, command: ChangeCommand)] = []
        var scheduled: [ScheduledChange] = []
        var now: PGTimestamp?
        for (place, (change, facts)) in zip(changes, facts).enumerated() {
            do {
                let facts = try facts.get()
                let type = try await registry.typeContext(change.app, facts.typeName)
                // Read once: those of one time go the same way.
                if change.at != nil, now == nil { now = try await databaseTime() }
                let time = change.time(after: now)
                // Refuses for lack of room before judging: judging is most of the cost of a change before it is in.
                if time == nil { try limit.admit(change.weight(by: type.policy), behind: backlog) }
                let command = try change.command(facts, type)
                // Takes the place of the answer to come.
                answers.append(.failure(Problem.internalError()))
                if let time {
                    scheduled.append(ScheduledChange(place: place, change: change, time: time, command: command))
                } else {
                    commands.append((place, command))
                }
            } catch {
                answers.append(.failure(error))
            }
        }
        // If the database fails here, it fails the commands as well, which say why.
        let unused = (try? await unusedVersions(commands.map(\.command))) ?? []
        if !unused.isEmpty {
            commands = commands.map { ($0, $1.knowing(unused: unused, changes[$0])) }
        }
        // An end would find nothing to cancel, and what is scheduled would find the end. So what is scheduled for the same
        // activity comes first. Changes of other activities wait for no schedule.
        let changed = Set(commands.map(\.command.activity.key))
        let before = scheduled.filter { changed.contains($0.command.activity.key) }
        let later = scheduled.filter { !changed.contains($0.command.activity.key) }
        for (place, answer) in await keep(before) { answers[place] = answer }
        async let kept = keep(later)
        let accepted = await groups.changes.submit(
            commands.map { ($0.command.activity.key, $0.command) },
            admitting: { command, backlog throws(Problem) in try limit.admit(command.weight, behind: backlog) },
            isUrgent: \.isUrgent
        )
        for (place, answer) in await kept { answers[place] = answer }
        var gone: [Int] = []
        for ((place, command), answer) in zip(commands, accepted) {
            answers[place] = answer
            if case .failure(let problem as Problem) = answer, problem.status == 404, command.scheduleID == nil {
                gone.append(place)
            }
        }
        guard !gone.isEmpty, !isAgain else { return answers }
        // Another daemon may have deleted them, and callers may have reused their ids. So look them up again.
        for place in gone { self.facts.remove(changes[place].name) }
        let again = await judge(gone.map { changes[$0] }, within: limit, isAgain: true)
        for (place, answer) in zip(gone, again) { answers[place] = answer }
        return answers
    }

    /// A change to be kept until its time.
    private struct ScheduledChange: Sendable {
        let place: Int
        let change: RequestedChange
        let time: Instant
        let command: ChangeCommand
    }

    private typealias PlacedAnswer = (place: Int, answer: Result<Replayable<ChangeAnswer>, any Error>)

    /// Keeps changes until their time, those of one activity in their order.
    private func keep(_ changes: [ScheduledChange]) async -> [PlacedAnswer] {
        let lines = Dictionary(grouping: changes, by: \.command.activity.key)
        return await inTurns(Array(lines.values)) { await self.keep(line: $0) }.flatMap { $0 }
    }

    private func keep(line changes: [ScheduledChange]) async -> [PlacedAnswer] {
        var answers: [PlacedAnswer] = []
        for scheduled in changes {
            let change = scheduled.change
            do {
                let command = scheduled.command
                let answer = try await schedule(change.kind, at: scheduled.time, body: change.json, command)
                answers.append((scheduled.place, .success(answer)))
            } catch {
                answers.append((scheduled.place, .failure(error)))
            }
        }
        return answers
    }

    /// The database's time, by which the time of a change is past or to come. It is read anew, because few changes name a
    /// time.
    func databaseTime() async throws -> PGTimestamp? {
        try await database.query(DatabaseClock.selection).single(PGTimestamp.self)
    }

    /// App versions that would refuse these changes, and that nobody uses any more.
    ///
    /// - Throws: ``PostgresError``.
    func unusedVersions(_ commands: [ChangeCommand]) async throws -> Set<Follower> {
        let doubtful = commands.filter { $0.contentState?.dependsOnFollowers == true }
        guard !doubtful.isEmpty else { return [] }
        let keys = Set(doubtful.map(\.activity.key))
        let followers = try Followers(rows: await database.query(AppVersionRows.selection(Array(keys))))
        let obstacles = doubtful.flatMap { command in
            command.contentState.map { followers.obstacles(to: $0, of: command.activity) } ?? []
        }
        return try await registry.versionUse.unused(obstacles)
    }

    /// The changes that wait to be accepted.
    package var waitingChanges: Int { groups.changes.backlog.count }

    /// How long a change that comes now would wait to be accepted.
    package var expectedIntakeWait: Duration { groups.changes.backlog.wait ?? .zero }

    var intakeLimit: IntakeLimit { IntakeLimit(waiting: settings.intakeLimit, wait: settings.intakeWait) }

    /// Lets the timeline of an activity tell which requests came to nothing: a card may stand still for that alone.
    private func tell(_ problem: Problem, refusing change: RequestedChange) {
        // A caller posts a change that was refused for lack of room again in a moment. There is no room for its rows
        // either.
        guard problem.code != Problem.Code.tooManyRequests else { return }
        // A schedule that fails is an event, which the timeline tells.
        guard change.scheduleID == nil, case .fresh(let facts) = facts.lookUp(change.name) else { return }
        timeline.record(problem, refusing: TimelineRow.Event(change.kind), of: facts.key)
    }
}
