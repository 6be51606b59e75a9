import APITypes
import ActivityModel
import JSON

/// The editor of a type's policy, with a preview before the change.
enum PolicyPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let (choice, type) = try await subject(visit)
        return page(visit, choice, type, text: Parts.pretty(type.policy.json), outcome: "")
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let (choice, type) = try await subject(visit)
        let text = visit.form.raw("policy") ?? ""
        // The page says that it is no JSON.
        guard let policy = try? JSONValue(parsing: text) else {
            return page(visit, choice, type, text: text, outcome: Parts.note(.bad, "This is not JSON."), status: 422)
        }
        guard visit.form["step"] == "apply" else {
            return page(visit, choice, type, text: text, outcome: preview(type.policy.json, policy, visit, text))
        }
        do {
            try await visit.send(
                "PUT",
                "/v1/apps/\(choice.id)/types/\(type.name.rawValue)",
                [
                    "attributes_schema": type.attributesSchema, "content_state_schema": type.contentStateSchema,
                    "policy": policy,
                ]
            )
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            return page(visit, choice, type, text: text, outcome: Parts.problem(problem), status: problem.status)
        }
        return .redirect(Address("/console/type", ["app": choice.id, "name": type.name.rawValue]))
    }

    private static func subject(_ visit: Visit) async throws -> (AppChoice, TypeResource) {
        let choice = try await visit.choice()
        return (choice, try await visit.get("/v1/apps/\(choice.id)/types/\(visit.query["name"] ?? "")"))
    }

    private static func preview(_ old: JSONValue, _ new: JSONValue, _ visit: Visit, _ text: String) -> HTML {
        let before = old.object ?? JSONObject()
        let after = new.object ?? JSONObject()
        let names = before.keys + after.keys.filter { before[$0] == nil }
        let rows = names.filter { before[$0] != after[$0] }.map { name -> HTML in
            """
            <tr><td><code>\(name)</code></td><td class="text"><code>\(before[name]?.text ?? "–")</code></td>\
            <td class="text"><code>\(after[name]?.text ?? "the default")</code></td></tr>
            """
        }
        let confirm: HTML = """
            <form method="post" class="confirm">\(visit.formToken.html)<input type="hidden" name="policy" value="\(text)">\
            <input type="hidden" name="step" value="apply"><button class="main">Apply to running activities too</button></form>
            """
        return """
            <section class="plan" aria-label="Preview"><h2>Preview</h2>
            \(Parts.table("Changes", ["Field", "Now", "Then"], rows, empty: "This is the policy that applies now."))\(rows.isEmpty ? "" : confirm)</section>
            """
    }

    private static func page(
        _ visit: Visit,
        _ choice: AppChoice,
        _ type: TypeResource,
        text: String,
        outcome: HTML,
        status: Int = 200
    ) -> ConsoleAnswer {
        let name = type.name.rawValue
        return Layout(visit: visit, title: "Policy of \(name)", place: .types, choice: choice).page(
            """
            <p class="crumb"><a href="\(Address("/console/type", ["app": choice.id, "name": name]))">\(name)</a></p>
            <h1>Policy</h1>\(outcome)
            <form method="post" class="fields">\(visit.formToken.html)<div class="span"><label for="policy">Policy, JSON</label>\
            <textarea id="policy" name="policy" rows="24" spellcheck="false">\n\(text)</textarea></div>\
            <div class="span"><button class="main">Preview</button></div></form>
            """,
            status: status
        )
    }
}
