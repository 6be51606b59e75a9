import APITypes
import ActivityModel
import ReportTypes

/// One schedule: when it is due, and what became of it.
enum SchedulePage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.schedules)
        let (app, id) = (choice.id, visit.query.exact("id") ?? "")
        let layout = Layout(visit: visit, title: "Schedule \(id)", place: .schedules, choice: choice)
        let schedule: ScheduleResource
        do {
            schedule = try await visit.get("/v1/apps/\(app)/schedules/\(id)")
        } catch let problem as Problem where problem.status == 404 || problem.status == 422 {
            let lead: HTML = "No schedule has this id in \(app). Tally forgets a schedule together with its activity."
            return await Gone.page(layout, id, lead, .scheduleCancelled, in: app)
        }
        let here = Address("/console/schedule", ["app": app, "id": id])
        return layout.page(
            """
            <h1>\(layout.title)</h1>\(SchedulesPage.done(visit))
            \(SchedulesPage.table([schedule], app: app, visit: visit, returningTo: here))
            """
        )
    }
}
