import APITypes
import ActivityModel

/// Changes that wait for their time.
enum SchedulesPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    /// Runs or cancels a schedule. Asks first: a change that has left cannot be taken back, nor can a cancellation.
    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        let id = visit.form["id"] ?? ""
        do {
            guard visit.form["step"] == "confirm" else {
                let schedule = try await visit.get("/v1/apps/\(app)/schedules/\(id)", as: ScheduleResource.self)
                return try await page(visit, outcome: question(schedule, visit, app))
            }
            if visit.form["act"] == "run" {
                try await visit.send("POST", "/v1/apps/\(app)/schedules/\(id)/run")
            } else {
                try await visit.send("DELETE", "/v1/apps/\(app)/schedules/\(id)")
            }
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
        let list = Address("/console/schedules", ["app": app, "state": visit.query["state"]])
        let back = visit.form["back"].flatMap { Address(returningTo: $0) } ?? list
        return .redirect(back.with(["done": visit.form["act"] == "run" ? "run" : "cancelled"]))
    }

    private static func question(_ schedule: ScheduleResource, _ visit: Visit, _ app: String) -> HTML {
        let isRun = visit.form["act"] == "run"
        let kind = schedule.kind.rawValue
        let carried: [(String, String)] = ["id", "act", "back"].compactMap { name in
            visit.form.raw(name).map { (name, $0) }
        }
        let button = Parts.action(
            visit,
            Address("/console/schedules", ["app": app, "state": visit.query["state"]]),
            isRun ? "Run it now" : "Cancel the \(kind)",
            fields: carried + [("step", "confirm")],
            tone: isRun ? .plain : .bad
        )
        return Parts.question(
            isRun ? "Run the \(kind) now?" : "Cancel the \(kind)?",
            """
            It is of <bdi>\(schedule.activityID.rawValue)</bdi>, and due \(Parts.when(schedule.dueAt, now: visit.now)). \
            \(isRun ? "You cannot undo it." : "A cancelled schedule does not come back.")
            """,
            button
        )
    }

    /// What became of the schedule whose button was pressed.
    static func done(_ visit: Visit) -> HTML {
        switch visit.query["done"] {
        case "run": Parts.note(.good, "The schedule has run now.")
        case "cancelled": Parts.note(.good, "The schedule was cancelled.")
        default: ""
        }
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
        let here = Address("/console/schedules", ["app": app, "state": state, "cursor": visit.query["cursor"]])
        return Layout(visit: visit, title: "Schedules", place: .schedules, choice: choice).page(
            """
            <h1>Schedules</h1><p class="quick">\(quick)</p>\(done(visit))\(outcome)
            \(table(page.items, app: app, visit: visit, returningTo: here))\(Parts.more(older))
            """,
            status: status
        )
    }

    /// A table of schedules. Its buttons lead back to `page`; without one it has no buttons.
    static func table(
        _ schedules: [ScheduleResource],
        app: String,
        visit: Visit,
        returningTo page: Address?
    ) -> HTML {
        let back = visit.allows(.operate) ? page : nil
        // A refusal is shown above the same list.
        let state = visit.request.path == "/console/schedules" ? visit.query["state"] : nil
        let address = Address("/console/schedules", ["app": app, "state": state])
        let rows = schedules.map { schedule -> HTML in
            let buttons = back.map { schedule.state == .pending ? acts(schedule.id, visit, address, $0) : "" }
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

    private static func acts(_ id: String, _ visit: Visit, _ address: Address, _ back: Address) -> HTML {
        let fields = [("id", id), ("back", back.text)]
        return Parts.action(visit, address, "Run now", fields: fields + [("act", "run")])
            + Parts.action(visit, address, "Cancel", fields: fields + [("act", "cancel")], tone: .bad)
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
