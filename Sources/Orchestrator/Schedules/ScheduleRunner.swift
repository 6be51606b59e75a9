import APITypes
import ActivityModel
import DeliveryStore
import Intake
import JSON
import Logging
import Postgres
import ServiceLifecycle
import Store

/// Runs what is due: starts, updates and ends at their time. Schedules that were missed while no daemon ran are run
/// once, late.
///
/// Schedules are claimed in batches under a lease. One transaction makes the change and settles its schedule. So if a
/// daemon dies, another runs its schedule again, and none runs twice. The schedules of one activity run one after the
/// other in the order of their times: an end that was missed together with an update does not swallow it. But an end
/// passes schedules that were tried and have to wait, and those behind them (promise 5). A start passes all others,
/// because they may wait for what it sends.
struct ScheduleRunner: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private struct Due: Sendable {
        let id: String
        let activityKey: Int64
        let app: BundleID
        let activity: ActivityID
        let kind: ChangeKind
        let body: JSONValue
        let isSilenceLimit: Bool
        /// The request that scheduled it.
        let origin: RequestOrigin?

        /// The columns that ``init(_:)`` reads, of the schedule `s` and its activity `a`.
        static let columns = """
            s.schedule_id::text, s.activity_key, a.bundle_id, a.activity_id, s.kind::text, s.body::text,
            s.silence_seconds IS NOT NULL AS is_silence_limit, s.request_id, s.traceparent
            """

        init(_ row: Row) throws {
            id = try row["schedule_id"]
            activityKey = try row["activity_key"]
            app = BundleID(stored: try row["bundle_id"])
            activity = ActivityID(stored: try row["activity_id"])
            kind = try .stored(row["kind"])
            body = try JSONValue(parsing: row["body"])
            isSilenceLimit = try row["is_silence_limit"]
            origin = RequestOrigin(stored: try row["request_id"], try row["traceparent"])
        }
    }

    private static let batchSize = 500

    var description: String { "schedule-runner" }

    func run() async {
        await orchestrator.deliveryStore.dueWork.each(.schedules, "run schedules") { while try await runDue() {} }
    }

    /// - Returns: Whether there may be more.
    func runDue() async throws -> Bool {
        let rows = try await orchestrator.database.query(
            ScheduleRows.claim(
                limit: Self.batchSize,
                lease: orchestrator.settings.pushDeadline,
                returning: Due.columns
            )
        )
        let due = try rows.map { try Due($0) }
        await withDiscardingTaskGroup { group in
            for start in due where start.kind == .start {
                group.addTask { await begin(start) }
            }
            group.addTask { await runChanges(await withoutUnreachedLimits(due.filter { $0.kind != .start })) }
        }
        return !due.isEmpty
    }

    private func begin(_ due: Due) async {
        do {
            try await begin(activityKey: due.activityKey, scheduleID: due.id)
        } catch {
            await missed(due, error)
        }
    }

    /// Moves the silence limits that are not reached.
    ///
    /// - Returns: The others.
    private func withoutUnreachedLimits(_ due: [Due]) async -> [Due] {
        let limits = due.filter(\.isSilenceLimit)
        guard !limits.isEmpty else { return due }
        do {
            let moved = try await orchestrator.database.query(ScheduleRows.postponement(of: limits.map(\.id)))
                .decoded(as: String.self)
            return due.filter { !moved.contains($0.id) }
        } catch {
            for limit in limits { await missed(limit, error) }
            return due.filter { !$0.isSilenceLimit }
        }
    }

    /// Makes the changes, which settles the schedules with them.
    private func runChanges(_ due: [Due]) async {
        var changes: [(due: Due, change: RequestedChange)] = []
        for schedule in due {
            do {
                changes.append((schedule, try change(schedule)))
            } catch {
                await missed(schedule, error)
            }
        }
        let answers = await orchestrator.intake.accept(changes.map(\.change))
        for ((due, _), answer) in zip(changes, answers) {
            if case .failure(let error) = answer { await missed(due, error) }
        }
    }

    private func change(_ due: Due, records: [Query] = []) throws(Problem) -> RequestedChange {
        RequestedChange(
            app: due.app,
            id: due.activity,
            body: due.kind == .end ? .end(try EndRequest(json: due.body)) : .update(try UpdateRequest(json: due.body)),
            scheduleID: due.id,
            origin: due.origin,
            records: records
        )
    }

    private func missed(_ due: Due, _ error: any Error) async {
        if let problem = error as? Problem, problem.status < 500, problem.status != 429, !due.isSilenceLimit {
            await fail(due, problem)
        } else {
            await wait(due, error)
        }
    }

    /// How long a schedule that could not be run is left alone.
    private static let pause = Duration.seconds(1)

    /// Leaves a schedule pending: it is claimed again after a pause. The reason lets an end pass it.
    private func wait(_ due: Due, _ error: any Error) async {
        orchestrator.logger.warning(
            "a schedule waits",
            metadata: ["schedule.id": "\(due.id)", "error": "\(error)"]
        )
        let reason = (error as? Problem)?.code ?? "database_error"
        do {
            _ = try await orchestrator.database.execute(ScheduleRows.pause(of: due.id, Self.pause, reason: reason))
        } catch {
            // The database is away, also for the end. The lease expires.
        }
    }

    /// Runs one schedule before its time. One that is refused stays as it is. `record` is committed with it.
    ///
    /// - Throws: What refuses the change; 409 `schedule_waits` for an end that waits for silence.
    func runNow(_ app: BundleID, _ id: String, record: [Query]) async throws {
        let rows = try await orchestrator.database.query(
            """
            SELECT \(unescaped: Due.columns)
            FROM schedules AS s JOIN activities AS a USING (activity_key)
            WHERE a.bundle_id = \(app.rawValue) AND s.schedule_id = \(id)::uuid AND s.state = 'pending'
            """
        )
        guard let due = try rows.first.map({ try Due($0) }) else { return }
        if due.isSilenceLimit { throw Problem.scheduleWaits() }
        if due.kind == .start {
            try await begin(activityKey: due.activityKey, scheduleID: due.id, record: record)
        } else {
            for answer in await orchestrator.intake.accept([try change(due, records: record)]) { _ = try answer.get() }
        }
    }

    /// Makes a scheduled start live, with a stamp of now for its content. Does nothing if another daemon has run the
    /// schedule meanwhile, or it was cancelled. `record` is committed with it.
    func begin(activityKey: Int64, scheduleID: String, record: [Query] = []) async throws {
        try await orchestrator.database.withTransaction { connection in
            let results = try await connection.pipeline([
                ActivityRows.hold(activityKey),
                """
                WITH run AS (
                    \(part: ScheduleRows.run(scheduleID))
                ), begun AS (
                    \(unescaped: ActivityRows.begin(from: "run"))
                ), stamped AS (
                    \(unescaped: ChangeRows.stamp(from: "begun"))
                ), \(unescaped: ScheduledStart.passing("begun"))
                SELECT FROM run
                """,
                SegmentRows.wake(activityKeys: [activityKey]),
            ])
            if !results[1].isEmpty, !record.isEmpty { _ = try await connection.pipeline(record) }
        }
        orchestrator.deliveryStore.wakeUps.signal()
    }

    private static let failureEvent = EventRows.insertion(
        of: .scheduleFailed,
        from: "failed",
        detail:
            "json_build_object('schedule_id', r.schedule_id, 'kind', r.kind, 'due_at', r.due_at, 'reason', r.reason)"
    )

    private func fail(_ due: Due, _ problem: Problem) async {
        orchestrator.logger.warning(
            "a schedule failed",
            metadata: ["schedule.id": "\(due.id)", "problem": "\(problem.code)"]
        )
        do {
            _ = try await orchestrator.database.execute(
                """
                WITH failed AS (
                    \(part: ScheduleRows.failure(of: due.id, reason: problem.code))
                )
                \(unescaped: Self.failureEvent)
                """
            )
        } catch {
            orchestrator.logger.warning("a failed schedule stays", metadata: ["schedule.id": "\(due.id)"])
        }
    }
}
