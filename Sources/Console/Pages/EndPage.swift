import APITypes
import ActivityModel
import Cryptography
import JSON

/// The end of an activity, with a dry run first.
enum EndPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice()
        return try await page(visit, choice, outcome: "")
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice()
        let id = visit.query.exact("id") ?? ""
        let path: APIPath = "/v1/apps/\(choice.id)/activities/\(id)/end"
        do {
            // A damaged text counts as a first step.
            if let tried = visit.form.raw("request"), let request = try? JSONValue(parsing: tried) {
                let answer = try await visit.send("POST", path, request, idempotencyKey: visit.form["key"])
                let revision = answer["revision"].map(\.text)
                return .redirect(Address("/console/activity", ["app": choice.id, "id": id, "sent": revision]))
            }
            var request: JSONValue = [:]
            if let minutes = visit.form["dismiss_minutes"] {
                request.set("dismiss_after_seconds", seconds(ofMinutes: minutes))
            }
            let plan = try DryRunAnswer(json: try await visit.send("POST", path.with(["dry_run": "true"]), request))
            let confirmation: HTML = """
                <form method="post" class="confirm">\(visit.formToken.html)<input type="hidden" name="request" value="\(request.text)">\
                <input type="hidden" name="key" value="\(Base64URL.encode(SecureRandom.bytes(16)))">\
                <button class="bad">End it on every phone</button> <span class="hint">An end cannot be undone.</span></form>
                """
            let activity = try await visit.get("/v1/apps/\(choice.id)/activities/\(id)", as: ActivityResource.self)
            let halt = HaltsPage.notice(choice.id, activity.environment)
            let outcome = DryRunDrawing(answer: plan, halt: halt).html + confirmation
            return try await page(visit, choice, outcome: outcome, isTried: true)
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            return try await page(visit, choice, outcome: Parts.problem(problem), status: problem.status)
        }
    }

    /// The seconds that a text of minutes means. The API refuses what is too long, and what is no number.
    private static func seconds(ofMinutes text: String) -> JSONValue {
        guard let minutes = Int(text) else { return .string(text) }
        let (seconds, isTooLong) = minutes.multipliedReportingOverflow(by: 60)
        return .number(JSONNumber(isTooLong ? Int.max : seconds))
    }

    private static func page(
        _ visit: Visit,
        _ choice: AppChoice,
        outcome: HTML,
        status: Int = 200,
        isTried: Bool = false
    ) async throws -> ConsoleAnswer {
        let id = visit.query.exact("id") ?? ""
        let activity = try await visit.get("/v1/apps/\(choice.id)/activities/\(id)", as: ActivityResource.self)
        let room = Address("/console/activity", ["app": choice.id, "id": id])
        // The button sends what was tried, so there is no field to edit beside it.
        let again: HTML =
            "<p><a href=\"\(Address("/console/activity/end", ["app": choice.id, "id": id]))\">Change it again</a></p>"
        let layout = Layout(visit: visit, title: "End \(id)", place: .activities, choice: choice)
        let head: HTML = "<p class=\"crumb\"><a href=\"\(room)\">\(id)</a></p><h1>End the activity</h1>"
        guard activity.state != .ended else {
            // A plan of a second end, and its button, would end nothing.
            let refusal: HTML = isTried ? "" : outcome
            return layout.page("\(head)\(refusal)\(Parts.ended(activity, now: visit.now))", status: status)
        }
        return layout.page(
            """
            \(head)
            <p class="lead">The end goes to \(Parts.count(activity.progress.destinations)) destinations with the newest state.</p>
            \(outcome)
            \(isTried ? again : form(visit))
            """,
            status: status
        )
    }

    private static func form(_ visit: Visit) -> HTML {
        """
        <form method="post" class="fields">\(visit.formToken.html)
        <div><label for="dismiss_minutes">Leave the card for <small>minutes, 0 to 240; empty: as the policy says</small></label>\
        <input id="dismiss_minutes" name="dismiss_minutes" inputmode="numeric" value="\(visit.form["dismiss_minutes"] ?? "")"></div>
        <div class="span"><button class="main">Try it</button> <span class="hint">A dry run: nothing is sent yet.</span></div></form>
        """
    }
}
