import APITypes
import ActivityModel
import ReportTypes

/// Whether sending is halted for one environment of an app, and what became of its last halt.
enum HaltPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.halts)
        let (app, environment) = (choice.id, visit.query["environment"] ?? "")
        async let events = HaltsPage.events(of: app, visit)
        let halts = try await HaltsPage.halts(of: app, visit).filter { $0.environment.rawValue == environment }
        let past = try await events.filter { $0.environment?.rawValue == environment }
        let layout = Layout(visit: visit, title: "Halt of \(environment)", place: .halts, choice: choice)
        guard !halts.isEmpty else {
            let lead: HTML = "Sending to \(app) (\(environment)) is not halted."
            return await Gone.page(layout, environment, lead, .haltLifted, in: app, events: past)
        }
        return layout.page(
            """
            <h1>\(layout.title)</h1>\(HaltsPage.table(halts, app, visit))
            <section><h2 id="past">Before</h2>\(EventsPage.table(past, visit))</section>
            """
        )
    }
}
