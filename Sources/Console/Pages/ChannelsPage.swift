import APITypes
import ActivityModel
import JSON

/// Broadcast channels, their quota, and the comparison with Apple's list.
enum ChannelsPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    /// Compares with Apple's list: a dry run first, then for real.
    static func reconcile(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        let isDry = visit.form["step"] != "apply"
        var request: JSONValue = ["dry_run": .bool(isDry)]
        if let environment = visit.form["environment"] { request.set("environment", .string(environment)) }
        do {
            let report = try ChannelReport(
                json: try await visit.send("POST", "/v1/apps/\(app)/channels/reconcile", request)
            )
            return try await page(visit, outcome: outcome(report, visit, app))
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.channels)
        let app = choice.id
        async let text = visit.text("/metrics")
        let list = try await visit.get(
            APIPath("/v1/apps/\(app)/channels").with(["limit": "50", "cursor": visit.query["cursor"]]),
            as: Page<ChannelResource>.self
        )
        let metrics = MetricSamples(await text ?? "")
        let address = Address("/console/channels", ["app": app])
        let compare =
            !visit.allows(.operate)
            ? ""
            : choice.environments.html { environment in
                Parts.action(
                    visit,
                    address,
                    "Compare \(environment.rawValue) with Apple's list",
                    fields: [("environment", environment.rawValue)]
                )
            }
        let older = list.nextCursor.map { Address("/console/channels", ["app": app, "cursor": $0]) }
        return Layout(visit: visit, title: "Channels", place: .channels, choice: choice).page(
            """
            <h1>Channels</h1>
            \(quota(metrics, app))
            <p class="acts">\(compare)</p>
            \(outcome)
            \(table(list.items, app, visit))\(Parts.more(older))
            """,
            status: status
        )
    }

    private static func quota(_ metrics: MetricSamples, _ app: String) -> HTML {
        let samples = metrics.all("tally_channels_at_apple").filter { $0.labels["app"] == app }
        return HTML(
            joining: samples.map { sample in
                let count = Int(sample.value)
                let environment = sample.labels["environment"] ?? ""
                return """
                    <dl class="gauges"><div class="gauge"><dt>At Apple, \(environment) <small>\(Parts.count(count)) of \(Parts.count(ChannelReport.quota)) \
                    at the last comparison</small></dt><dd>\(Drawing.gauge(count, of: ChannelReport.quota, label: "Channels at Apple"))</dd></div></dl>
                    """
            }
        )
    }

    private static func table(_ channels: [ChannelResource], _ app: String, _ visit: Visit) -> HTML {
        let rows = channels.map { channel -> HTML in
            let activity = channel.activityID.map { id -> HTML in
                "<a href=\"\(Address("/console/activity", ["app": app, "id": id.rawValue]))\">\(id.rawValue)</a>"
            }
            let page = Address("/console/channel", ["app": app, "id": channel.id.rawValue])
            return """
                <tr><td><a href="\(page)"><code>\(channel.apnsChannelID?.rawValue ?? "–")</code></a></td><td>\(badge(channel.state))</td>\
                <td>\(channel.environment.rawValue)</td><td>\(channel.storage.rawValue.replacing("_", with: " "))</td><td>\(activity ?? "–")</td>\
                <td>\(Parts.when(channel.createdAt, now: visit.now))</td><td>\(Parts.when(channel.deletedAt ?? channel.lostAt ?? channel.deleteAt, now: visit.now))</td>\
                <td class="text">\(channel.reason ?? "")</td></tr>
                """
        }
        return Parts.table(
            "Channels",
            ["Apple's id", "State", "Environment", "Storage", "Activity", "Made", "Ends", "Why"],
            rows,
            empty: "No channel yet. Tally makes one for an activity with the delivery 'channel' or 'hybrid'."
        )
    }

    static func badge(_ state: ChannelState) -> HTML {
        switch state {
        case .ready: Parts.badge(state.rawValue, .good)
        case .creating, .deleting: Parts.badge(state.rawValue, .busy)
        case .deleted: Parts.badge(state.rawValue, .plain)
        case .lost: Parts.badge(state.rawValue, .bad)
        }
    }

    private static func outcome(_ report: ChannelReport, _ visit: Visit, _ app: String) -> HTML {
        let rows = report.findings.map { finding -> HTML in
            """
            <tr><td><code>\(finding.apnsChannelID.rawValue)</code></td><td>\(finding.kind.rawValue.replacing("_", with: " "))</td>\
            <td>\(finding.action.rawValue.replacing("_", with: " "))</td><td>\(finding.isDone ? "done" : "not done")</td><td class="text">\(finding.reason ?? "")</td></tr>
            """
        }
        let apply: HTML =
            report.dryRun && !report.findings.isEmpty
            ? Parts.action(
                visit,
                Address("/console/channels", ["app": app]),
                "Apply",
                fields: [("environment", report.environment.rawValue), ("step", "apply")],
                tone: .bad
            ) : ""
        return """
            <section class="plan" aria-label="Comparison"><h2>\(report.dryRun ? "Comparison, nothing changed" : "Comparison")</h2>
            <p>Apple's list has \(report.atApple) channels in \(report.environment.rawValue). Tally knows \(report.known) of them.</p>
            \(Parts.table("Differences", ["Channel", "Difference", "Action", "Done", "Why"], rows, empty: "The lists agree."))\(apply)</section>
            """
    }
}
