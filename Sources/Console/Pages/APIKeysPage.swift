import APITypes
import ActivityModel
import JSON

/// API keys: who may do what. A new key's secret is shown once.
enum APIKeysPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        do {
            if let id = visit.form["revoke"] {
                try await visit.send("DELETE", "/v1/api-keys/\(id)")
                return .redirect(Address("/console/api-keys"))
            }
            var request: JSONValue = [
                "name": .string(visit.form["name"] ?? ""),
                "scopes": .array(visit.form.all("scope").map { .string($0) }),
            ]
            if let app = visit.form["bundle_id"] { request.set("bundle_id", .string(app)) }
            if let time = visit.form["expires_at"] { request.set("expires_at", .string(time)) }
            let key = try APIKeyResource(json: try await visit.send("POST", "/v1/api-keys", request))
            return try await page(
                visit,
                outcome: Parts.note(
                    .good,
                    "<p>The key '\(key.name)' is made. This is its only appearance:</p><pre tabindex=\"0\" role=\"region\" aria-label=\"Secret\">\(key.secret ?? "")</pre>"
                )
            )
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let page = try await visit.get(
            APIPath("/v1/api-keys").with(["limit": "100", "cursor": visit.query["cursor"]]),
            as: Page<APIKeyResource>.self
        )
        // Keys can be made before the first app.
        let choice = try? await visit.choice()
        let rows = page.items.map { key -> HTML in
            let revoke: HTML =
                key.revokedAt == nil
                ? Parts.action(visit, Address("/console/api-keys"), "Revoke", fields: [("revoke", key.id)], tone: .bad)
                : ""
            let state =
                key.revokedAt != nil
                ? Parts.badge("revoked", .plain)
                : isExpired(key, visit) ? Parts.badge("expired", .warn) : Parts.badge("valid", .good)
            return """
                <tr><td>\(key.name)</td><td><code>\(key.id)</code></td><td>\(key.scopes.map(\.rawValue).joined(separator: ", "))</td><td>\(key.bundleID?.rawValue ?? "all")</td>\
                <td>\(state)</td><td>\(Parts.when(key.createdAt, now: visit.now))</td><td>\(Parts.when(key.lastUsedAt, now: visit.now))</td>\
                <td>\(Parts.when(key.expiresAt, now: visit.now))</td><td>\(revoke)</td></tr>
                """
        }
        let older = page.nextCursor.map { Address("/console/api-keys", ["cursor": $0]) }
        return Layout(visit: visit, title: "API keys", place: .apiKeys, choice: choice).page(
            """
            <h1>API keys</h1>\(outcome)
            \(Parts.table("API keys", ["Name", "Id", "Scopes", "App", "State", "Made", "Used", "Expires", "Revoke"], rows, empty: "No key yet."))\(Parts.more(older))
            <section><h2 id="new">New key</h2>\(form(visit))</section>
            """,
            status: status
        )
    }

    private static func isExpired(_ key: APIKeyResource, _ visit: Visit) -> Bool {
        key.expiresAt.map { $0 < visit.now } ?? false
    }

    private static func form(_ visit: Visit) -> HTML {
        let scopes = Scope.allCases.html { scope in
            "<label class=\"check\"><input type=\"checkbox\" name=\"scope\" value=\"\(scope.rawValue)\"> \(scope.rawValue)</label>"
        }
        return """
            <form method="post" class="fields">\(visit.formToken.html)
            <div><label for="name">Name</label><input id="name" name="name" required maxlength="128" autocomplete="off"></div>
            <div><label for="bundle_id">App <small>empty: all</small></label><input id="bundle_id" name="bundle_id" value="\(visit.owner.app?.rawValue ?? "")" autocomplete="off"></div>
            <div><label for="expires_at">Expires <small>RFC 3339, empty: never</small></label><input id="expires_at" name="expires_at" autocomplete="off"></div>
            <fieldset class="span checks"><legend>Scopes</legend>\(scopes)</fieldset>
            <div class="span"><button class="main">Make the key</button></div></form>
            """
    }
}
