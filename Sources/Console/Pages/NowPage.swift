import APITypes
import ActivityModel
import JSON

/// What happens now, and what needs somebody.
enum NowPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.now)
        let app = choice.id
        async let live: Page<ActivityResource> = visit.get("/v1/apps/\(app)/activities?state=live&limit=12")
        async let due: Page<ScheduleResource> = visit.get("/v1/apps/\(app)/schedules?state=pending&limit=6")
        async let text = visit.text("/metrics")
        async let health = visit.api.answer(to: ConsoleCall(method: "GET", path: "/health/ready", secret: visit.secret))
        let metrics = MetricSamples(await text ?? "")
        let answers = Answers(metrics, visit.rates, of: visit.owner.app?.rawValue, at: visit.now)
        let activities = try await live
        let schedules = try await due
        // The page shows the rest without the warnings.
        let warnings = (try? await health.json())?["warnings"]?.array?.compactMap(\.string) ?? []
        let layout = Layout(
            visit: visit,
            title: "Now",
            place: .now,
            choice: choice,
            live: Address("/console/events/stream", ["bundle_id": app]),
            every: 5
        )
        return layout.page(
            """
            <h1>Now</h1>
            <div id="now-state" data-part>\(state(metrics, answers, warnings, app))</div>
            \(visit.allows(.operate) ? doctor(app) : "")
            <div id="now-figures" data-part>\(figures(metrics, answers))</div>
            <section><h2 id="live">Live activities</h2>
            <div id="now-live" data-part>\(ActivitiesPage.table(activities.items, app: app, visit: visit, empty: "No activity is live."))
            \(activities.nextCursor == nil ? "" : more(app))</div></section>
            <section><h2 id="due">Next schedules</h2>
            <div id="now-due" data-part>\(SchedulesPage.table(schedules.items, app: app, visit: visit, returningTo: nil))</div></section>
            """
        )
    }

    private static func more(_ app: String) -> HTML {
        "<p class=\"more\"><a href=\"\(Address("/console/activities", ["app": app, "q": "state:live"]))\">All live activities</a></p>"
    }

    /// One sentence that says whether somebody must act.
    private static func state(
        _ metrics: MetricSamples,
        _ answers: Answers,
        _ warnings: [String],
        _ app: String
    ) -> HTML {
        let halts = HaltsPage.places(in: metrics)
        if !halts.isEmpty {
            let places = halts.map { "\($0.app) (\($0.environment))" }.joined(separator: ", ")
            return Parts.note(
                .bad,
                "<strong>Sending is halted</strong> for \(places). <a href=\"\(Address("/console/halts", ["app": app]))\">See why, and resume</a>"
            )
        }
        guard warnings.isEmpty else {
            return Parts.note(.warn, "<ul>\(warnings.html { "<li>\($0)</li>" })</ul>")
        }
        if answers.areMissing {
            return Parts.note(
                .warn,
                "<strong>Pushes get no answer from APNs.</strong> Check the network of this daemon."
            )
        }
        return Parts.note(.good, "<strong>Tally is working.</strong> Nothing is halted.")
    }

    /// What APNs has answered since this daemon started.
    struct Answers {
        let accepted: Double
        let refused: Double
        /// The pushes to which no answer came.
        let unanswered: Double
        let requests: Double
        let rates: [String: Rates.Rate]

        init(_ metrics: MetricSamples, _ memory: Rates, of app: String?, at now: Instant) {
            let answers = metrics.all("tally_apns_responses_total")
            let all = answers.reduce(0) { $0 + $1.value }
            accepted = answers.filter { $0.labels["status"]?.hasPrefix("2") == true }.reduce(0) { $0 + $1.value }
            unanswered = answers.filter { $0.labels["status"] == "none" }.reduce(0) { $0 + $1.value }
            refused = all - accepted - unanswered
            requests = metrics.sum("tally_http_requests_total")
            let counts = [
                "accepted": accepted, "refused": refused, "unanswered": unanswered, "requests": requests,
            ]
            rates = memory.note(counts, of: app, at: now)
        }

        /// Whether pushes got no answer in the last minute; on the first look, whether none ever got one.
        var areMissing: Bool {
            guard let rate = rates["unanswered"] else { return unanswered > 0 && accepted + refused == 0 }
            return rate.perSecond > 0
        }
    }

    private static func figures(_ metrics: MetricSamples, _ answers: Answers) -> HTML {
        let rates = answers.rates
        let waiting = metrics.all("tally_work_waiting_seconds").map(\.value).max() ?? 0
        return """
            <dl class="figures">
            \(figure("Pushes accepted", rates["accepted"], of: answers.accepted, "by APNs"))
            \(figure("Refused", rates["refused"], of: answers.refused, "by APNs"))
            \(figure("Without an answer", rates["unanswered"], of: answers.unanswered, "from APNs"))
            \(figure("Backlog", waiting < 1 ? "none" : Parts.duration(Int64(waiting)), "age of the oldest work that is due"))
            \(figure("APNs connections", Parts.count(Int(metrics.sum("tally_apns_connections"))), "open now"))
            \(figure("Requests", rates["requests"], of: answers.requests, "to the API"))
            \(figure("Event readers", Parts.count(Int(metrics.sum("tally_http_event_readers"))), "connected now"))
            </dl>
            """
    }

    /// How often something happens, beside how often it has since this daemon started.
    private static func figure(_ name: String, _ rate: Rates.Rate?, of total: Double, _ unit: String) -> HTML {
        let rest = "\(Parts.count(Int(total))) since this daemon started"
        guard let rate else { return figure(name, "–", "a second \(unit); measured from now on; \(rest)") }
        let text = rate.perSecond < 10 ? Drawing.number(rate.perSecond) : Parts.count(Int(rate.perSecond.rounded()))
        return figure(name, text, "a second \(unit) in the last \(rate.seconds) s; \(rest)")
    }

    private static func figure(_ name: String, _ value: String, _ unit: String) -> HTML {
        "<div><dt>\(name)</dt><dd><b>\(value)</b> <small>\(unit)</small></dd></div>"
    }

    /// The doctor asks Apple, which takes a moment, so the browser loads the findings afterwards.
    private static func doctor(_ app: String) -> HTML {
        let address = Address("/console/doctor", ["app": app])
        return """
            <div id="findings" data-load="\(Address("/console/doctor", ["app": app, "brief": "1"]))"><p class="note plain"><a href="\(address)">Check everything that sending depends on</a></p></div>
            """
    }
}

/// What to do while there is no app.
enum FirstSteps {
    static func page(_ visit: Visit, _ place: Layout.Place) -> ConsoleAnswer {
        Layout(visit: visit, title: place.rawValue, place: place).page(
            """
            <h1>\(place.rawValue)</h1>
            <p class="lead">No app is registered yet. Register one, with its signing key from Apple:</p>
            <pre tabindex="0" role="region" aria-label="Command">tally apps put com.example.app --team-id ABCDE12345 \\
              --production-key-id ABC123DEFG --production-key-file AuthKey_ABC123DEFG.p8</pre>
            """
        )
    }
}
