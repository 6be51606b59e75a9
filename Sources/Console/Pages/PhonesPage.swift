import APITypes
import ActivityModel

/// The devices of an app, found by id, user or the beginning of a token.
enum PhonesPage {
    private struct Found {
        var devices: [DeviceResource]
        var next: String?
        var note: String?
    }

    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.phones)
        let app = choice.id
        var text = visit.query.exact("q") ?? ""
        var found = try await findTyped(text, visit, app)
        // A blank at an end belongs to the id, or was pasted with it.
        if found.devices.isEmpty, text != text.trimmed {
            text = text.trimmed
            found = try await find(text, visit, app)
        }
        let rows = found.devices.map { device -> HTML in
            let user = device.userID.map { user -> HTML in
                "<a href=\"\(Address("/console/phones", ["app": app, "q": "user:" + user.rawValue]))\">\(user.rawValue)</a>"
            }
            return """
                <tr><td><a href="\(Address("/console/phone", ["app": app, "id": device.deviceID.rawValue]))">\(device.deviceID.rawValue)</a></td>\
                <td>\(user ?? "–")</td><td>\(device.environment.rawValue)</td><td>\(device.osVersion?.description ?? "–")</td>\
                <td>\(device.appVersion?.description ?? "–")</td><td class="num">\(device.startTokens.count)</td>\
                <td>\(Parts.when(device.updatedAt, now: visit.now))</td></tr>
                """
        }
        let older = found.next.map { Address("/console/phones", ["app": app, "q": text, "cursor": $0]) }
        return Layout(visit: visit, title: "Phones", place: .phones, choice: choice).page(
            """
            <h1>Phones</h1>
            <form class="filter" action="/console/phones"><input type="hidden" name="app" value="\(app)">
            <label for="q">Find</label><input id="q" name="q" value="\(text)" placeholder="a whole id, user:ID or token:8f3a" spellcheck="false" autocomplete="off">\
            <button>Search</button></form>
            \(Parts.table("Phones", ["Phone", "User", "Environment", "iOS", "App", "#Start tokens", "Reported"], rows, empty: "No phone matches."))
            \(found.note.map { "<p class=\"hint\">\($0)</p>" as HTML })\(Parts.more(older))
            """
        )
    }

    /// Finds a text as it was typed. One that is refused for the blanks around it finds nothing: no id has a tab.
    private static func findTyped(_ text: String, _ visit: Visit, _ app: String) async throws -> Found {
        do {
            return try await find(text, visit, app)
        } catch let problem as Problem where problem.status == 422 && text != text.trimmed {
            return Found(devices: [])
        }
    }

    private static func find(_ text: String, _ visit: Visit, _ app: String) async throws -> Found {
        let path: APIPath = "/v1/apps/\(app)/devices"
        let user = text.hasPrefix("user:") ? String(text.dropFirst(5)) : nil
        // The API says what is no token. No token has a blank.
        let token = text.hasPrefix("token:") ? text.dropFirst(6).trimmed : nil
        if text.isEmpty || user != nil || token != nil {
            let page = try await visit.get(
                path.with(["user_id": user, "token": token, "limit": "50", "cursor": visit.query["cursor"]]),
                as: Page<DeviceResource>.self
            )
            return Found(devices: page.items, next: page.nextCursor)
        }
        let word = text.hasPrefix("device:") ? String(text.dropFirst(7)) : text
        do {
            return Found(devices: [try await visit.get("/v1/apps/\(app)/devices/\(word)")])
        } catch let problem as Problem where problem.status == 404 || problem.status == 422 {
            let note =
                "A search takes a whole id, user:ID, the four digits that a masked token shows, or a whole token."
            return Found(devices: [], note: note)
        }
    }
}
