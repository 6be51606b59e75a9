import APITypes
import ActivityModel
import Cryptography
import JSON

/// A change of an activity: a form made from the schema, a dry run, and then the change.
enum ChangePage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let subject = try await Subject(visit)
        return subject.page(state: subject.activity.contentState)
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let subject = try await Subject(visit)
        let form = visit.form
        // The second step sends exactly what the first step tried. A damaged text counts as a first step.
        if let tried = form.raw("request"), let request = try? JSONValue(parsing: tried) {
            return try await subject.send(request, key: form["key"])
        }
        guard let state = subject.state(form) else {
            return subject.page(state: subject.activity.contentState, status: 422) {
                Parts.note(.bad, "The content state is not a JSON object.")
            }
        }
        let request = Self.request(state, form)
        do {
            let plan = try await visit.send("POST", subject.path.with(["dry_run": "true"]), request)
            let answer = try DryRunAnswer(json: plan)
            return subject.page(state: state) {
                DryRunDrawing(answer: answer).html + subject.confirmation(request, visit, answer)
            }
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            return subject.page(state: state, status: problem.status) { Parts.problem(problem) }
        }
    }

    private static func request(_ state: JSONObject, _ form: FormFields) -> JSONValue {
        var request: JSONValue = ["content_state": .object(state)]
        if let urgency = form["urgency"] { request.set("urgency", .string(urgency)) }
        if let title = form["alert_title"] {
            request.set(
                "alert",
                ["title": .string(title), "body": .string(form["alert_body"] ?? ""), "sound": "default"]
            )
        }
        if form["must_deliver"] != nil { request.set("must_deliver", true) }
        if form["force"] != nil { request.set("force", true) }
        if let time = form["at"] { request.set("at", .string(time)) }
        return request
    }

    /// The inputs beside the content state, as they were sent.
    fileprivate static func optionInputs(_ form: FormFields) -> HTML {
        let urgencies = ["", "routine", "notable", "critical"].html { word in
            let selected: HTML = word == form["urgency"] ?? "" ? " selected" : ""
            return "<option value=\"\(word)\"\(selected)>\(word.isEmpty ? "as the policy says" : word)</option>"
        }
        func check(_ name: String, _ label: String) -> HTML {
            let checked: HTML = form[name] == nil ? "" : " checked"
            return
                "<label class=\"check\"><input type=\"checkbox\" name=\"\(name)\" value=\"true\"\(checked)> \(label)</label>"
        }
        return """
            <div><label for="urgency">Urgency</label><select id="urgency" name="urgency">\(urgencies)</select></div>
            <div><label for="at">At <small>RFC 3339, empty for now</small></label><input id="at" name="at" value="\(form["at"] ?? "")" placeholder="2026-12-18T15:00:00Z"></div>
            <div><label for="alert_title">Alert title <small>optional</small></label><input id="alert_title" name="alert_title" value="\(form["alert_title"] ?? "")"></div>
            <div><label for="alert_body">Alert text</label><input id="alert_body" name="alert_body" value="\(form["alert_body"] ?? "")"></div>
            <div class="span checks">\(check("must_deliver", "Every phone gets a push of its own for this change"))\(check("force", "Send it even if nothing changed"))</div>
            """
    }

    /// The activity that is changed, and how its form looks.
    private struct Subject {
        let visit: Visit
        let choice: AppChoice
        let activity: ActivityResource
        let form: ContentForm?

        init(_ visit: Visit) async throws {
            self.visit = visit
            choice = try await visit.choice()
            activity = try await visit.get("/v1/apps/\(choice.id)/activities/\(visit.query["id"] ?? "")")
            let type = try await visit.get(
                "/v1/apps/\(choice.id)/types/\(activity.type.rawValue)",
                as: TypeResource.self
            )
            form = ContentForm(type.contentStateSchema)
        }

        var path: APIPath { "/v1/apps/\(choice.id)/activities/\(activity.activityID.rawValue)/updates" }

        private var id: String { activity.activityID.rawValue }

        func state(_ form: FormFields) -> JSONObject? {
            // A text that is no JSON object counts as none; the form is then shown again.
            if let text = form.raw("content_state") { return (try? JSONValue(parsing: text))?.object }
            return self.form?.state(form, over: activity.contentState)
        }

        func send(_ request: JSONValue, key: String?) async throws -> ConsoleAnswer {
            do {
                let answer = try await visit.send("POST", path, request, idempotencyKey: key)
                let revision = answer["revision"].map(\.text)
                return .redirect(
                    Address(
                        "/console/activity",
                        ["app": choice.id, "id": id, "sent": revision, "scheduled": revision == nil ? "1" : nil]
                    )
                )
            } catch let problem as Problem where (400..<500).contains(problem.status) {
                let state = request["content_state"]?.object ?? activity.contentState
                return page(state: state, status: problem.status) { Parts.problem(problem) }
            }
        }

        /// The button that sends what was tried.
        func confirmation(_ request: JSONValue, _ visit: Visit, _ answer: DryRunAnswer) -> HTML {
            let key = Base64URL.encode(SecureRandom.bytes(16))
            let label = answer.at == nil ? "Send revision \(answer.revision)" : "Schedule it"
            return """
                <form method="post" class="confirm">\(visit.formToken.html)<input type="hidden" name="request" value="\(request.text)">\
                <input type="hidden" name="key" value="\(key)"><button class="main">\(label)</button></form>
                """
        }

        func page(state: JSONObject, status: Int = 200, _ outcome: () -> HTML = { "" }) -> ConsoleAnswer {
            let room = Address("/console/activity", ["app": choice.id, "id": id])
            let inputs: HTML =
                form.map { $0.html(state) } ?? """
                    <div class="span"><label for="content_state">Content state, JSON</label>\
                    <textarea id="content_state" name="content_state" rows="12" spellcheck="false">\n\(Parts.pretty(.object(state)))</textarea></div>
                    """
            return Layout(visit: visit, title: "Change \(id)", place: .activities, choice: choice).page(
                """
                <p class="crumb"><a href="\(room)">\(id)</a></p>
                <h1>Post a change</h1>
                \(outcome())
                <form method="post" class="fields">\(visit.formToken.html)
                \(inputs)
                <hr>
                \(ChangePage.optionInputs(visit.form))
                <div class="span"><button class="main">Try it</button> <span class="hint">A dry run: nothing is sent yet.</span></div>
                </form>
                """,
                status: status
            )
        }
    }
}

extension JSONValue {
    /// Sets a member; without effect on a value that is no object.
    mutating func set(_ key: String, _ value: JSONValue) {
        guard var object else { return }
        object[key] = value
        self = .object(object)
    }
}
