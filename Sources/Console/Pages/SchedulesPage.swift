import APITypes
import ActivityModel

/// Changes that wait for their time.
enum SchedulesPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    /// Runs or cancels a schedule.
    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        let id = visit.form["id"] ?? ""
        do {
            if visit.form["act"] == "run" {
                try await visit.send("POST", "/v1/apps/\(app)/schedules/\(id)/run")
            } else {
                try await visit.send("DELETE", "/v1/apps/\(app)/schedules/\(id)")
            }
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
        return .redirect(Address("/console/schedules", ["app": app, "state": visit.query["state"]]))
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.schedules)
        let app = choice.id
        let state = visit.query["state"]
        let page = try await visit.get(
            APIPath("/v1/apps/\(app)/schedules").with(["state": state, "limit": "50", "cursor": visit.query["cursor"]]),
            as: Page<ScheduleResource>.self
        )
        let quick = ([nil] + ScheduleState.allCases.map(\.rawValue)).html { word in
            let current: HTML = word == state ? " aria-current=\"true\"" : ""
            return
                "<a href=\"\(Address("/console/schedules", ["app": app, "state": word]))\"\(current)>\(word ?? "all")</a>"
        }
        let older = page.nextCursor.map { Address("/console/schedules", ["app": app, "state": state, "cursor": $0]) }
        return Layout(visit: visit, title: "Schedules", place: .schedules, choice: choice).page(
            """
            <h1>Schedules</h1><p class="quick">\(quick)</p>\(outcome)
            \(table(page.items, app: app, visit: visit, acts: true))\(Parts.more(older))
            """,
            status: status
        )
    }

    static func table(_ schedules: [ScheduleResource], app: String, visit: Visit, acts: Bool) -> HTML {
        let mayAct = acts && visit.allows(.operate)
        let rows = schedules.map { schedule -> HTML in
            let address = Address("/console/schedules", ["app": app])
            let buttons: HTML =
                mayAct && schedule.state == .pending
                ? Parts.action(visit, address, "Run now", fields: [("id", schedule.id), ("act", "run")])
                    + Parts.action(
                        visit,
                        address,
                        "Cancel",
                        fields: [("id", schedule.id), ("act", "cancel")],
                        tone: .bad
                    )
                : ""
            let activity = Address("/console/activity", ["app": app, "id": schedule.activityID.rawValue])
            let page = Address("/console/schedule", ["app": app, "id": schedule.id])
            return """
                <tr><td><a href="\(page)">\(Parts.when(schedule.dueAt, now: visit.now))</a></td><td>\(schedule.kind.rawValue)</td>\
                <td><a href="\(activity)">\(schedule.activityID.rawValue)</a></td><td>\(Parts.badge(schedule.state.rawValue, tone(schedule.state)))</td>\
                <td class="text">\(schedule.reason ?? "")\(buttons)</td></tr>
                """
        }
        return Parts.table(
            "Schedules",
            ["Due", "Change", "Activity", "State", "Why"],
            rows,
            empty: "Nothing is scheduled."
        )
    }

    private static func tone(_ state: ScheduleState) -> Parts.Tone {
        switch state {
        case .pending: .busy
        case .done: .good
        case .cancelled: .plain
        case .failed: .bad
        }
    }
}
