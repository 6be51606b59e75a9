package import APITypes
package import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Record
import ReportTypes
import Store

extension Orchestrator {
    /// Schedules of an app in the order of their time: all, or those in one state.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func schedules(
        _ app: BundleID,
        state: ScheduleState? = nil,
        _ page: PageRequest
    ) async throws -> Page<ScheduleResource> {
        // The id of a schedule is a UUID like that of a channel.
        let place = try page.position(in: .schedules, PGTimestamp.self, ChannelID.self)
        let after = place?.0
        let rows = try await database.query(
            """
            SELECT \(unescaped: ScheduleReading.columns)
            FROM schedules AS s JOIN activities AS a USING (activity_key)
            WHERE s.bundle_id = \(app.rawValue)
              AND (\(state?.rawValue)::text IS NULL OR s.state::text = \(state?.rawValue))
              AND (s.due_at, s.schedule_id) > (
                  coalesce(\(after), '-infinity'),
                  coalesce(\(place?.1.rawValue)::uuid, '00000000-0000-0000-0000-000000000000')
              )
            ORDER BY s.due_at, s.schedule_id LIMIT \(page.limit + 1)
            """
        )
        if rows.isEmpty { try await store.requireApp(app) }
        return .cut(try ScheduleReading.decode(rows).map { $1 }, of: .schedules, limit: page.limit) {
            [String($0.dueAt.microseconds), $0.id]
        }
    }

    /// One schedule.
    ///
    /// - Throws: 404.
    package func schedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource {
        guard let schedule = try await Self.schedule(app, id, on: { try await database.query($0) }) else {
            throw Problem.notFound("the schedule")
        }
        return schedule
    }

    private static func schedule(
        _ app: BundleID,
        _ id: String,
        on query: (Query) async throws -> Rows
    ) async throws -> ScheduleResource? {
        let rows = try await query(
            """
            SELECT \(unescaped: ScheduleReading.columns)
            FROM schedules AS s JOIN activities AS a USING (activity_key)
            WHERE a.bundle_id = \(app.rawValue) AND s.schedule_id = \(id)::uuid
            """
        )
        return try ScheduleReading.decode(rows).first?.1
    }

    /// Cancels a schedule that has not run.
    ///
    /// - Throws: 404; 409 `schedule_settled` if it has run, failed or was cancelled.
    package func cancelSchedule(_ app: BundleID, _ id: String) async throws {
        let cancelled = try await database.withTransaction { connection in
            let before = try await Self.schedule(app, id) { try await connection.query($0) }
            let cancelled = try await connection.execute(ScheduleRows.cancellation(of: id, app: app))
            if cancelled > 0 {
                try await AuditRows.record(.scheduleCancelled, of: app, id, before: before?.json, on: connection)
            }
            return cancelled
        }
        guard cancelled == 0 else { return }
        let schedule = try await schedule(app, id)
        throw Problem.scheduleSettled(schedule.state)
    }

    /// Runs a schedule now instead of at its time. One that has run already is answered as it is, so the same request
    /// again runs nothing.
    ///
    /// - Throws: 404; 409 `schedule_settled` if it failed or was cancelled; the error that refuses its change. A
    ///   refused schedule stays pending.
    package func runSchedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource {
        let before = try await schedule(app, id)
        if before.state == .pending {
            do {
                let record = AuditRows.entry(.scheduleRun, of: app, id, before: before.json)
                try await ScheduleRunner(orchestrator: self).runNow(app, id, record: record)
            } catch let problem as Problem where problem.status == 404 {
                // Somebody else has settled it meanwhile; what it has become is the answer.
            }
        }
        let schedule = try await schedule(app, id)
        guard schedule.state == .done else {
            throw Problem.scheduleSettled(schedule.state)
        }
        return schedule
    }
}
