import APITypes
import ActivityModel
import Cryptography
import JSON

/// API keys: who may do what. A new key's secret is shown once.
enum APIKeysPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let isRevoked = visit.query["done"] == "revoked"
        return try await page(visit, outcome: isRevoked ? Parts.note(.good, "The key is revoked.") : "")
    }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        do {
            if let id = visit.form["revoke"] { return try await revoke(id, visit) }
            // Reloading the answer sends its form again.
            if let form = visit.form["once"], !visit.memory.use(formOnce: form, now: visit.now) {
                let note: HTML = "This form was sent before, so nothing was made. The list shows what there is."
                return try await page(visit, outcome: Parts.note(.warn, note))
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
                    "<p>The key '<bdi>\(key.name)</bdi>' is made. This is its only appearance:</p><pre tabindex=\"0\" role=\"region\" aria-label=\"Secret\">\(key.secret ?? "")</pre>"
                )
            )
        } catch let problem as Problem where problem.status != 503 {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status, keeping: visit.form)
        }
    }

    /// Revokes a key. Asks first, because it cannot be undone.
    private static func revoke(_ id: String, _ visit: Visit) async throws -> ConsoleAnswer {
        let address = address(try? await visit.choice())  // as in the page
        guard visit.form["step"] == "confirm" else {
            let isOwn = id.lowercased() == visit.owner.keyID.lowercased()
            let button = Parts.action(
                visit,
                address,
                isOwn ? "Revoke it and sign out" : "Revoke the key",
                fields: [("revoke", id), ("step", "confirm")],
                tone: .bad
            )
            let name = visit.form.raw("named") ?? id
            let question =
                isOwn
                ? Parts.question(
                    "Revoke your own key?",
                    "You are signed in with this key. Revoking it ends this session and all others of the key.",
                    button
                )
                : Parts.question(
                    "Revoke the key '<bdi>\(name)</bdi>'?",
                    "Requests with it get 401. This cannot be undone.",
                    button
                )
            return try await page(visit, outcome: question)
        }
        try await visit.send("DELETE", "/v1/api-keys/\(id)")
        return .redirect(address.with(["done": "revoked"]))
    }

    private static func address(_ choice: AppChoice?) -> Address { Address("/console/api-keys", ["app": choice?.id]) }

    private static func page(
        _ visit: Visit,
        outcome: HTML,
        status: Int = 200,
        keeping kept: FormFields = FormFields("")
    ) async throws -> ConsoleAnswer {
        let page = try await visit.get(
            APIPath("/v1/api-keys").with(["limit": "100", "cursor": visit.query["cursor"]]),
            as: Page<APIKeyResource>.self
        )
        // Keys can be made before the first app.
        let choice = try? await visit.choice()
        let rows = page.items.map { key -> HTML in
            let revoke: HTML =
                key.revokedAt == nil
                ? Parts.action(
                    visit,
                    address(choice),
                    "Revoke",
                    fields: [("revoke", key.id), ("named", key.name)],
                    tone: .bad
                )
                : ""
            let state =
                key.revokedAt != nil
                ? Parts.badge("revoked", .plain)
                : isExpired(key, visit) ? Parts.badge("expired", .warn) : Parts.badge("active", .good)
            return """
                <tr><td><span class="name">\(key.name)</span></td><td><code>\(key.id)</code></td><td>\(key.scopes.map(\.rawValue).joined(separator: ", "))</td><td>\(key.bundleID?.rawValue ?? "all")</td>\
                <td>\(state)</td><td>\(Parts.when(key.createdAt, now: visit.now))</td><td>\(Parts.when(key.lastUsedAt, now: visit.now))</td>\
                <td>\(Parts.when(key.expiresAt, now: visit.now))</td><td>\(revoke)</td></tr>
                """
        }
        let older = page.nextCursor.map { address(choice).with(["cursor": $0]) }
        return Layout(visit: visit, title: "API keys", place: .apiKeys, choice: choice).page(
            """
            <h1>API keys</h1>\(outcome)
            \(Parts.table("API keys", ["Name", "Id", "Scopes", "App", "State", "Made", "Used", "Expires", "Revoke"], rows, empty: "No key yet."))\(Parts.more(older))
            <section><h2 id="new">New key</h2>\(form(visit, kept))</section>
            """,
            status: status
        )
    }

    private static func isExpired(_ key: APIKeyResource, _ visit: Visit) -> Bool {
        key.expiresAt.map { $0 < visit.now } ?? false
    }

    /// The form for a new key, with what a refused one held.
    private static func form(_ visit: Visit, _ kept: FormFields) -> HTML {
        let chosen = kept.all("scope")
        let scopes = Scope.allCases.html { scope in
            let checked: HTML = chosen.contains(scope.rawValue) ? " checked" : ""
            return
                "<label class=\"check\"><input type=\"checkbox\" name=\"scope\" value=\"\(scope.rawValue)\"\(checked)> \(scope.rawValue)</label>"
        }
        let app = kept.raw("bundle_id") ?? visit.owner.app?.rawValue ?? ""
        return """
            <form method="post" class="fields">\(visit.formToken.html)
            <input type="hidden" name="once" value="\(Base64URL.encode(SecureRandom.bytes(16)))">
            <div><label for="name">Name</label><input id="name" name="name" value="\(kept.raw("name") ?? "")" required maxlength="128" autocomplete="off"></div>
            <div><label for="bundle_id">App <small>empty: all</small></label><input id="bundle_id" name="bundle_id" value="\(app)" autocomplete="off"></div>
            <div><label for="expires_at">Expires <small>RFC 3339, empty: never</small></label><input id="expires_at" name="expires_at" value="\(kept.raw("expires_at") ?? "")" autocomplete="off"></div>
            <fieldset class="span checks"><legend>Scopes</legend>\(scopes)</fieldset>
            <div class="span"><button class="main">Make the key</button></div></form>
            """
    }
}
