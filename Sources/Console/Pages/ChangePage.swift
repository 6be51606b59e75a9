import APITypes
import ActivityModel
import Cryptography
import JSON

/// A change of an activity: a form made from the schema, a dry run, and then the change.
///
/// Others may change the activity meanwhile. The console sets the fields that the operator changed on the newest state.
enum ChangePage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        try await Subject(visit).editor()
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let subject = try await Subject(visit)
        let form = visit.form
        if form["step"] == "edit" { return subject.editor() }
        // The second step sends exactly what the first step tried. A damaged text counts as a first step.
        if let tried = form.raw("request"), let request = try? JSONValue(parsing: tried), subject.isAsTried(request) {
            return try await subject.send(request, key: form["key"])
        }
        return try await subject.trial()
    }

    private static func request(_ state: JSONObject, _ form: FormFields) throws -> JSONValue {
        var request: JSONValue = ["content_state": .object(state)]
        if let urgency = form["urgency"] { request.set("urgency", .string(urgency)) }
        if var alert = try AlertForm.alert(form) {
            alert.set("sound", "default")
            request.set("alert", alert)
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
            activity = try await visit.get("/v1/apps/\(choice.id)/activities/\(visit.query.exact("id") ?? "")")
            let type = try await visit.get(
                "/v1/apps/\(choice.id)/types/\(activity.type.rawValue)",
                as: TypeResource.self
            )
            form = ContentForm(type.contentStateSchema)
        }

        private var path: APIPath { "/v1/apps/\(choice.id)/activities/\(id)/updates" }

        private var id: String { activity.activityID.rawValue }

        // MARK: Steps

        /// The form. It shows what the operator changed in the form that was sent, and the newest state elsewhere.
        func editor(_ outcome: HTML = "", status: Int = 200) -> ConsoleAnswer {
            guard activity.state != .ended else {
                return page("\(outcome)\(Parts.ended(activity, now: visit.now))", status: status)
            }
            let inputs = form.map { $0.html(activity.contentState, visit.form) } ?? document
            return page(
                """
                \(hasMoved ? moved : "")\(outcome)
                <form method="post" class="fields">\(visit.formToken.html)\(hidden("revision", String(activity.revision)))
                \(inputs)
                <hr>
                \(ChangePage.optionInputs(visit.form))
                <div class="span"><button class="main">Try it</button> <span class="hint">A dry run: nothing is sent yet.</span></div>
                </form>
                """,
                status: status
            )
        }

        /// What the change would do, with a button that sends exactly this.
        func trial() async throws -> ConsoleAnswer {
            do {
                let state = try state()
                let request = try ChangePage.request(state, visit.form)
                let plan = try await visit.send("POST", path.with(["dry_run": "true"]), request)
                let answer = try DryRunAnswer(json: plan)
                return page(
                    """
                    \(visit.form["tried"] == nil ? "" : unsent)\(hasMoved ? moved : "")
                    \(changes(to: state))
                    \(DryRunDrawing(answer: answer, halt: HaltsPage.notice(choice.id, activity.environment)).html)
                    \(confirmation(request, answer))
                    """
                )
            } catch let problem as Problem where (400..<500).contains(problem.status) {
                return editor(Parts.problem(problem), status: problem.status)
            }
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
                return editor(Parts.problem(problem), status: problem.status)
            }
        }

        /// Whether a request can be sent as it was tried: nobody has changed the activity since, or this request has.
        func isAsTried(_ request: JSONValue) -> Bool {
            visit.form["tried"] == String(activity.revision)
                || request["content_state"]?.object == activity.contentState
        }

        // MARK: The state

        /// The newest state with what the operator changed.
        ///
        /// - Throws: 422 if the text of the form is no JSON object.
        private func state() throws -> JSONObject {
            guard let text = visit.form.raw("content_state") else {
                return form?.state(visit.form, over: activity.contentState) ?? activity.contentState
            }
            // A text that is no JSON object is refused below.
            guard let edited = (try? JSONValue(parsing: text))?.object else {
                throw Problem.invalidRequest("The content state is not a JSON object.")
            }
            // Without the text that the form was opened with, everything in it counts as changed.
            guard let opened = (try? JSONValue(parsing: visit.form.raw("was_content_state") ?? ""))?.object else {
                return edited
            }
            var state = activity.contentState
            for name in Self.names(of: opened, and: edited) where opened[name] != edited[name] {
                state[name] = edited[name]
            }
            return state
        }

        private static func names(of before: JSONObject, and after: JSONObject) -> [String] {
            before.keys + after.keys.filter { before[$0] == nil }
        }

        /// Whether somebody else has changed the activity since this form was opened.
        private var hasMoved: Bool { visit.form["revision"].map { $0 != String(activity.revision) } ?? false }

        private var moved: HTML {
            Parts.note(
                .warn,
                """
                The activity has changed: revision \(visit.form["revision"] ?? "") has become revision \(activity.revision). \
                The fields that you changed are set on its content. All others stay as they are now.
                """
            )
        }

        private var unsent: HTML {
            Parts.note(
                .warn,
                "Nothing was sent, because the activity has changed since you tried. See what it would do now."
            )
        }

        // MARK: HTML

        private func changes(to state: JSONObject) -> HTML {
            let before = activity.contentState
            let rows = Self.names(of: before, and: state).filter { before[$0] != state[$0] }.map { name -> HTML in
                """
                <tr><td><code>\(name)</code></td><td class="text">\(Parts.code(before[name]))</td>\
                <td class="text">\(Parts.code(state[name]))</td></tr>
                """
            }
            return """
                <section class="plan" aria-label="What changes"><h2>What changes</h2>
                \(Parts.table("Changes", ["Field", "Before", "After"], rows, empty: "No field changes."))</section>
                """
        }

        /// A button that sends what was tried, and one that opens the form again. Neither form has a field to edit.
        private func confirmation(_ request: JSONValue, _ answer: DryRunAnswer) -> HTML {
            let steps: Set<String> = [FormToken.name, "step", "request", "tried", "key"]
            let carried = visit.form.entries.filter { !steps.contains($0.name) }.html { hidden($0.name, $0.value) }
            let key = Base64URL.encode(SecureRandom.bytes(16))
            let label = answer.at == nil ? "Send revision \(answer.revision)" : "Schedule it"
            return """
                <form method="post" class="confirm">\(visit.formToken.html)\(carried)\(hidden("request", request.text))\
                \(hidden("tried", String(activity.revision)))\(hidden("key", key))<button class="main">\(label)</button></form>
                <form method="post" class="confirm">\(visit.formToken.html)\(carried)\(hidden("step", "edit"))\
                <button>Change it again</button></form>
                """
        }

        private func hidden(_ name: String, _ value: String) -> HTML {
            "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
        }

        /// The content state as one text, for a schema that names no fields.
        private var document: HTML {
            let opened = Parts.pretty(.object(activity.contentState))
            return """
                <div class="span"><label for="content_state">Content state, JSON</label>\
                <textarea id="content_state" name="content_state" rows="12" spellcheck="false">\n\(visit.form.raw("content_state") ?? opened)</textarea>\
                \(hidden("was_content_state", visit.form.raw("was_content_state") ?? opened))</div>
                """
        }

        private func page(_ content: HTML, status: Int = 200) -> ConsoleAnswer {
            let room = Address("/console/activity", ["app": choice.id, "id": id])
            return Layout(visit: visit, title: "Change \(id)", place: .activities, choice: choice).page(
                """
                <p class="crumb"><a href="\(room)">\(id)</a></p>
                <h1>Post a change</h1>
                \(content)
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
