import APITypes
import ActivityModel
import JSON

/// The editor of a type's policy, with a preview before the change.
///
/// Others may change the policy meanwhile. The console sets what the operator changed on the newest one.
enum PolicyPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let (choice, type) = try await subject(visit)
        return page(visit, choice, type, text: Parts.pretty(type.policy.json), opened: type.policy.json.text)
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let (choice, type) = try await subject(visit)
        let name = type.name.rawValue
        do {
            let edit = try Edit(visit.form, over: type.policy)
            // The second step applies exactly what the first step showed. The same button twice applies it once.
            guard visit.form["step"] == "apply", !edit.hasMoved || edit.after == edit.before else {
                return page(visit, choice, type, edit)
            }
            try await visit.send("PATCH", "/v1/apps/\(choice.id)/types/\(name)", ["policy": edit.patch])
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            return page(
                visit,
                choice,
                type,
                text: visit.form.raw("policy") ?? "",
                opened: visit.form.raw("was") ?? "",
                outcome: Parts.problem(problem),
                status: problem.status
            )
        }
        return .redirect(Address("/console/type", ["app": choice.id, "name": name]))
    }

    private static func subject(_ visit: Visit) async throws -> (AppChoice, TypeResource) {
        let choice = try await visit.choice()
        return (choice, try await visit.get("/v1/apps/\(choice.id)/types/\(visit.query.exact("name") ?? "")"))
    }

    /// What the operator changed in the policy that the form was opened with, on the policy of now.
    private struct Edit {
        let before: Policy
        let after: Policy
        /// The change, as a JSON merge patch.
        let patch: JSONValue
        /// Whether somebody else has changed the policy since the form was opened, or since the preview.
        let hasMoved: Bool

        /// - Throws: 422 for a text that is no JSON object, and for a field that is unknown or wrong.
        init(_ form: FormFields, over now: Policy) throws {
            // A text that is no JSON is refused like one that is no object.
            guard let edited = try? JSONValue(parsing: form.raw("policy") ?? ""), edited.object != nil else {
                throw Problem.invalidRequest("The policy is not a JSON object.")
            }
            // Without the text that the form was opened with, everything in it counts as changed.
            let opened = try? JSONValue(parsing: form.raw("was") ?? "")
            before = now
            hasMoved = opened.map { $0.object != now.json.object } ?? false
            patch = Self.difference(opened ?? now.json, edited)
            after = try TypePatch(policy: patch).applied(to: now)
        }

        /// The merge patch that makes the second value of the first.
        private static func difference(_ old: JSONValue?, _ new: JSONValue?) -> JSONValue {
            guard let new else { return .null }
            guard let before = old?.object, let after = new.object else { return new }
            let names = before.keys + after.keys.filter { before[$0] == nil }
            return .object(
                JSONObject(
                    names.filter { before[$0] != after[$0] }.map { ($0, difference(before[$0], after[$0])) }
                )
            )
        }
    }

    // MARK: HTML

    /// The form with a preview of the change.
    private static func page(_ visit: Visit, _ choice: AppChoice, _ type: TypeResource, _ edit: Edit) -> ConsoleAnswer {
        let typed = visit.form.raw("policy") ?? ""
        let note: HTML = edit.hasMoved ? moved(visit) : ""
        return page(
            visit,
            choice,
            type,
            // The text and the policy that it was opened with go together.
            text: edit.hasMoved ? Parts.pretty(edit.after.json) : typed,
            opened: edit.before.json.text,
            outcome: note + preview(edit, visit)
        )
    }

    private static func moved(_ visit: Visit) -> HTML {
        let what: HTML =
            visit.form["step"] == "apply"
            ? "Nothing was applied, because somebody else has changed the policy since the preview."
            : "Somebody else has changed the policy since you opened this page."
        return Parts.note(
            .warn,
            "\(what) What you changed is set on the policy as it is now. All other fields stay as they are."
        )
    }

    private static func preview(_ edit: Edit, _ visit: Visit) -> HTML {
        let before = edit.before.json.object ?? JSONObject()
        let after = edit.after.json.object ?? JSONObject()
        let rows = after.keys.filter { before[$0] != after[$0] }.map { name -> HTML in
            """
            <tr><td><code>\(name)</code></td><td class="text">\(Parts.code(before[name]))</td>\
            <td class="text">\(Parts.code(after[name]))</td></tr>
            """
        }
        let confirm: HTML = """
            <form method="post" class="confirm">\(visit.formToken.html)<input type="hidden" name="policy" value="\(edit.after.json.text)">\
            <input type="hidden" name="was" value="\(edit.before.json.text)"><input type="hidden" name="step" value="apply">\
            <button class="main">Apply to running activities too</button></form>
            """
        return """
            <section class="plan" aria-label="Preview"><h2>Preview</h2>
            \(Parts.table("Changes", ["Field", "Now", "Then"], rows, empty: "This is the policy that applies now."))\(rows.isEmpty ? "" : confirm)</section>
            """
    }

    /// The form. `opened` is the policy that its text was made of.
    private static func page(
        _ visit: Visit,
        _ choice: AppChoice,
        _ type: TypeResource,
        text: String,
        opened: String,
        outcome: HTML = "",
        status: Int = 200
    ) -> ConsoleAnswer {
        let name = type.name.rawValue
        return Layout(visit: visit, title: "Policy of \(name)", place: .types, choice: choice).page(
            """
            <p class="crumb"><a href="\(Address("/console/type", ["app": choice.id, "name": name]))">\(name)</a></p>
            <h1>Policy</h1>\(outcome)
            <form method="post" class="fields">\(visit.formToken.html)<input type="hidden" name="was" value="\(opened)">\
            <div class="span"><label for="policy">Policy, JSON</label>\
            <textarea id="policy" name="policy" rows="24" spellcheck="false">\n\(text)</textarea></div>\
            <div class="span"><button class="main">Preview</button></div></form>
            """,
            status: status
        )
    }
}
