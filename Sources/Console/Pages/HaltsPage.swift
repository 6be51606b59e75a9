import APITypes
import ActivityModel

/// Where sending is halted, why, and how to resume it.
enum HaltsPage {
    struct Halt {
        let app: String
        let environment: String
    }

    static func halts(in metrics: MetricSamples) -> [Halt] {
        metrics.all("tally_sending_halted").filter { $0.value > 0 }.map {
            Halt(app: $0.labels["app"] ?? "", environment: $0.labels["environment"] ?? "")
        }
    }

    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    static func resume(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = visit.form["app"] ?? ""
        let environment = visit.form["environment"] ?? ""
        let keeps = visit.form["revive"] == "no"
        let path = APIPath("/v1/apps/\(app)/halts/\(environment)").with(["leave_rejected": keeps ? "true" : nil])
        do {
            try await visit.send("DELETE", path)
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
        return try await page(visit, outcome: Parts.note(.good, "Sending to \(app) (\(environment)) is resumed."))
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let choice: AppChoice
        do { choice = try await visit.choice() } catch is NoApp { return FirstSteps.page(visit, .halts) }
        let app = choice.id
        async let text = visit.text("/metrics")
        let events = try await visit.get(
            APIPath("/v1/events").with([
                "bundle_id": app, "kind": "provider_halted,provider_resumed", "order": "newest", "limit": "50",
            ]),
            as: Page<EventResource>.self
        )
        let halts = halts(in: MetricSamples(await text ?? ""))
        let rows = halts.map { halt -> HTML in
            let address = Address("/console/halts", ["app": app])
            let fields = [("app", halt.app), ("environment", halt.environment)]
            let acts: HTML =
                visit.allows(.operate)
                ? Parts.action(visit, address, "Resume, and try rejected tokens again", fields: fields)
                    + Parts.action(visit, address, "Resume, and leave them", fields: fields + [("revive", "no")])
                : "Resuming needs the scope 'operate'."
            return
                "<tr><td>\(halt.app)</td><td>\(halt.environment)</td><td>\(Parts.badge("halted", .bad))</td><td>\(acts)</td></tr>"
        }
        return Layout(
            visit: visit,
            title: "Halts",
            place: .halts,
            choice: choice,
            live: Address("/console/events/stream", ["bundle_id": app, "kind": "provider_halted,provider_resumed"])
        ).page(
            """
            <h1>Halts</h1>
            <p class="lead">Tally halts sending when APNs rejects tokens in masses, so that a wrong setting does not lose them all. Check the environment and the signing key before you resume.</p>
            \(outcome)
            <div id="halts" data-part>\(Parts.table("Halts", ["App", "Environment", "State", "Resume"], rows, empty: "Nothing is halted."))</div>
            <section><h2 id="past">Before</h2>\(EventsPage.table(events.items, visit))</section>
            """,
            status: status
        )
    }
}
