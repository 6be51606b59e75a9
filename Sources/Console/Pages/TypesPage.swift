import APITypes
import ActivityModel
import JSON

/// The activity types of an app.
enum TypesPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.types)
        let app = choice.id
        let types = try await visit.get("/v1/apps/\(app)/types?limit=200", as: Page<TypeResource>.self)
        let rows = types.items.map { type -> HTML in
            let fields = type.contentStateSchema["properties"]?.object?.keys.joined(separator: ", ") ?? ""
            let lint = SchemaFinding.lint(attributes: type.attributesSchema, contentState: type.contentStateSchema)
            return """
                <tr><td><a href="\(Address("/console/type", ["app": app, "name": type.name.rawValue]))">\(type.name.rawValue)</a></td>\
                <td class="num">\(type.version)</td><td class="text"><code>\(fields)</code></td>\
                <td>\(lint.isEmpty ? Parts.badge("none", .good) : Parts.badge(String(lint.count), .warn))</td>\
                <td>\(Parts.when(type.updatedAt, now: visit.now))</td></tr>
                """
        }
        return Layout(visit: visit, title: "Types", place: .types, choice: choice).page(
            """
            <h1>Types</h1>
            \(Parts.table("Types", ["Type", "#Version", "Content state", "Lint", "Changed"], rows, empty: "No type yet. <code>tally types import FILE.swift</code> makes one."))
            """
        )
    }
}

/// One type: its schemas, its versions, its policy, and a check of content.
enum TypePage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    /// Answers "would this content be accepted?".
    static func check(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        let name = visit.query.exact("name") ?? ""
        if let version = visit.form["version"] { return try await retire(version, of: name, app, visit) }
        // The page says that it is no JSON.
        guard let content = try? JSONValue(parsing: visit.form.raw("content_state") ?? "") else {
            return try await page(visit, outcome: Parts.note(.bad, "This is not JSON."), status: 422)
        }
        do {
            let answer = try ValidationAnswer(
                json: try await visit.send("POST", "/v1/apps/\(app)/types/\(name)/validate", ["content_state": content])
            )
            let errors = answer.errors.html { "<li><code>\($0.pointer.description)</code> \($0.message)</li>" }
            return try await page(
                visit,
                outcome: Parts.note(
                    answer.valid ? .good : .bad,
                    """
                    <p>\(answer.valid ? "Accepted." : "Refused.") \(Parts.count(answer.bytes.together)) of 4096 bytes.</p>\
                    \(answer.errors.isEmpty ? "" : "<ul>\(errors)</ul>" as HTML)
                    """
                )
            )
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
    }

    /// Retires a version, or takes it into use again.
    private static func retire(
        _ version: String,
        of name: String,
        _ app: String,
        _ visit: Visit
    ) async throws -> ConsoleAnswer {
        let isRetirement = visit.form["act"] != "use"
        guard !isRetirement || visit.form["step"] == "confirm" else {
            let button = Parts.action(
                visit,
                Address("/console/type", ["app": app, "name": name]),
                "Retire version \(version)",
                fields: [("version", version), ("act", "retire"), ("step", "confirm")],
                tone: .bad
            )
            let question = Parts.question(
                "Retire version \(version)?",
                "Tally then accepts content that this version cannot decode. A phone whose app knows no other version may not be able to read it.",
                button
            )
            return try await page(visit, outcome: "", question: question)
        }
        do {
            let retired: JSONValue = ["retired": .bool(isRetirement)]
            try await visit.send("PUT", "/v1/apps/\(app)/types/\(name)/versions/\(version)", retired)
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
        return .redirect(Address("/console/type", ["app": app, "name": name]))
    }

    /// The page with the outcome of a check, or with a question above all.
    private static func page(
        _ visit: Visit,
        outcome: HTML,
        question: HTML = "",
        status: Int = 200
    ) async throws -> ConsoleAnswer {
        let choice = try await visit.choice()
        let (app, name) = (choice.id, visit.query.exact("name") ?? "")
        async let versions = visit.get(
            "/v1/apps/\(app)/types/\(name)/versions?limit=50",
            as: Page<TypeVersionResource>.self
        )
        let type = try await visit.get("/v1/apps/\(app)/types/\(name)", as: TypeResource.self)
        let lint = SchemaFinding.lint(attributes: type.attributesSchema, contentState: type.contentStateSchema)
        let findings = lint.html {
            "<li><code>\($0.part.rawValue)\($0.pointer.description)</code> \($0.message)</li>"
        }
        let all = try await versions.items
        let text = visit.form.raw("content_state") ?? "{\n  \n}"
        let edit: HTML =
            visit.allows(.operate)
            ? "<p><a class=\"button\" href=\"\(Address("/console/type/policy", ["app": app, "name": name]))\">Change the policy</a></p>"
            : ""
        return Layout(visit: visit, title: name, place: .types, choice: choice).page(
            """
            <div class="title"><h1>\(name)</h1>\(Parts.badge("version \(type.version)", .plain))</div>\(question)
            <section><h2 id="check">Would this content be accepted?</h2>\(outcome)
            <form method="post" class="fields">\(visit.formToken.html)<div class="span"><label for="content_state">Content state, JSON</label>\
            <textarea id="content_state" name="content_state" rows="6" spellcheck="false">\n\(text)</textarea></div>\
            <div class="span"><button class="main">Check</button></div></form></section>
            <section><h2 id="lint">Lint</h2>\(lint.isEmpty ? "<p class=\"empty\">No finding.</p>" as HTML : "<ul>\(findings)</ul>")</section>
            <section><h2 id="versions">Versions</h2>\(table(all, app, name, visit))</section>
            <div class="columns"><section><h2 id="policy">Policy</h2>\(Parts.json(type.policy.json, label: "Policy"))\(edit)</section>
            <section><h2 id="state">Content state schema</h2>\(Parts.json(type.contentStateSchema, label: "Content state schema"))</section>
            <section><h2 id="attributes">Attributes schema</h2>\(Parts.json(type.attributesSchema, label: "Attributes schema"))</section></div>
            """,
            status: status
        )
    }

    /// Every version with its differences from the one before.
    private static func table(_ versions: [TypeVersionResource], _ app: String, _ name: String, _ visit: Visit) -> HTML
    {
        let sorted = versions.sorted { $0.version > $1.version }
        let rows = sorted.indices.map { index -> HTML in
            let version = sorted[index]
            let older = index + 1 < sorted.count ? sorted[index + 1] : nil
            let changes = older.map { older in
                differences(older.contentStateSchema, version.contentStateSchema)
                    + differences(older.attributesSchema, version.attributesSchema)
            }
            let isRetired = version.retiredAt != nil
            // The newest version is never retired.
            let act: HTML =
                visit.allows(.operate) && (isRetired || index > 0)
                ? Parts.action(
                    visit,
                    Address("/console/type", ["app": app, "name": name]),
                    isRetired ? "Use it again" : "Retire",
                    fields: [("version", String(version.version)), ("act", isRetired ? "use" : "retire")]
                ) : ""
            return """
                <tr><td class="num">\(version.version)</td><td>\(version.minAppVersion?.description ?? "any")</td>\
                <td class="text">\(changes.map { $0.isEmpty ? "no field" : $0.joined(separator: ", ") } ?? "first")</td>\
                <td>\(Parts.when(version.createdAt, now: visit.now))</td>\
                <td>\(version.retiredAt.map { Parts.when($0, now: visit.now) } ?? Parts.badge("in use", .good)) \(act)</td></tr>
                """
        }
        return Parts.table(
            "Versions",
            ["#Version", "App from", "Changed fields", "Made", "Retired"],
            rows,
            empty: "None."
        )
    }

    private static func differences(_ old: JSONValue, _ new: JSONValue) -> [String] {
        let before = old["properties"]?.object ?? JSONObject()
        let after = new["properties"]?.object ?? JSONObject()
        let added = after.keys.filter { before[$0] == nil }.map { "+" + $0 }
        let removed = before.keys.filter { after[$0] == nil }.map { "−" + $0 }
        let changed = after.keys.filter { before[$0] != nil && before[$0] != after[$0] }.map { "~" + $0 }
        return added + removed + changed
    }
}
