import APITypes
import ActivityModel

/// Where sending is halted, why, and how to resume it.
enum HaltsPage {
    /// The halts of all apps, as the metrics know them.
    static func places(in metrics: MetricSamples) -> [(app: String, environment: String)] {
        metrics.all("tally_sending_halted").filter { $0.value > 0 }.map {
            (app: $0.labels["app"] ?? "", environment: $0.labels["environment"] ?? "")
        }
    }

    static func halts(of app: String, _ visit: Visit) async throws -> [HaltResource] {
        try await visit.get("/v1/apps/\(app)/halts", as: Page<HaltResource>.self).items
    }

    /// The newest halts and resumptions of an app.
    static func events(of app: String, _ visit: Visit) async throws -> [EventResource] {
        let path = APIPath("/v1/events").with([
            "bundle_id": app, "kind": "provider_halted,provider_resumed", "order": "newest", "limit": "50",
        ])
        return try await visit.get(path, as: Page<EventResource>.self).items
    }

    /// The way to the halt that a verdict speaks of; nothing for other verdicts.
    static func link(_ verdict: Verdict, _ app: String, _ environment: APNSEnvironment) -> HTML {
        guard verdict.code == "halted" else { return "" }
        return " " + link(app, environment)
    }

    /// Says what a halt is to somebody who wants to send.
    static func notice(_ app: String, _ environment: APNSEnvironment) -> HTML {
        Parts.note(
            .bad,
            """
            <strong>Sending is halted</strong> in \(environment.rawValue): only test pushes leave until it is resumed. \
            \(link(app, environment))
            """
        )
    }

    /// The notice of a halt; nothing if sending is not halted there.
    static func note(_ app: String, _ environment: APNSEnvironment, _ visit: Visit) async -> HTML {
        // Without the list of halts, the page says nothing of them.
        let halts = (try? await halts(of: app, visit)) ?? []
        guard halts.contains(where: { $0.environment == environment }) else { return "" }
        return notice(app, environment)
    }

    private static func link(_ app: String, _ environment: APNSEnvironment) -> HTML {
        let page = Address("/console/halt", ["app": app, "environment": environment.rawValue])
        return "<a href=\"\(page)\">See the halt, and resume</a>"
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
        return .redirect(Address("/console/halts", ["app": app, "resumed": environment]))
    }

    private static func resumed(_ visit: Visit, _ app: String) -> HTML {
        guard let environment = visit.query["resumed"].flatMap({ APNSEnvironment(rawValue: $0) }) else { return "" }
        return Parts.note(.good, "Sending to \(app) (\(environment.rawValue)) is resumed.")
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.halts)
        let app = choice.id
        async let text = visit.text("/metrics")
        async let events = events(of: app, visit)
        let halts = try await halts(of: app, visit)
        let others = places(in: MetricSamples(await text ?? "")).filter { $0.app != app }
        let links = others.html { place in
            "<li><a href=\"\(Address("/console/halts", ["app": place.app]))\">\(place.app) (\(place.environment))</a></li>"
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
            \(resumed(visit, app))\(outcome)
            <div id="halts" data-part>\(table(halts, app, visit))
            \(others.isEmpty ? "" : Parts.note(.bad, "<p>Other apps are halted:</p><ul>\(links)</ul>"))</div>
            <section><h2 id="past">Before</h2>\(EventsPage.table(try await events, visit))</section>
            """,
            status: status
        )
    }

    static func table(_ halts: [HaltResource], _ app: String, _ visit: Visit) -> HTML {
        let rows = halts.map { halt -> HTML in
            let environment = halt.environment.rawValue
            let address = Address("/console/halts", ["app": app])
            let fields = [("app", app), ("environment", environment)]
            let choices: HTML =
                visit.allows(.operate)
                ? Parts.action(visit, address, "Resume, and try rejected tokens again", fields: fields)
                    + Parts.action(visit, address, "Resume, and leave them", fields: fields + [("revive", "no")])
                : "Resuming needs the scope 'operate'."
            let acts = halt.isResuming ? "Tally puts the rejected tokens back." : choices
            return """
                <tr><td>\(environment)</td><td>\(Parts.badge(halt.isResuming ? "resuming" : "halted", .bad))</td><td>\(Parts.when(halt.haltedAt, now: visit.now))</td>\
                <td class="text">APNs rejected \(Parts.count(halt.rejections)) of \(Parts.count(halt.answers)) tokens.</td>\
                <td>\(Parts.when(halt.nextProbeAt, now: visit.now))</td><td>\(acts)</td></tr>
                """
        }
        return Parts.table(
            "Halts",
            ["Environment", "State", "Since", "Why", "Next test pushes", "Resume"],
            rows,
            empty: "Nothing is halted.",
            stacks: true
        )
    }
}
