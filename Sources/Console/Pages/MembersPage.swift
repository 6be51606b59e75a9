import APITypes
import ActivityModel
import Cryptography
import JSON

/// The audience of an activity: whom it names, and a form that adds and removes.
enum MembersPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer { try await page(visit, outcome: "") }

    static func take(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        let id = visit.query.exact("id") ?? ""
        let form = visit.form
        var members: JSONValue = [:]
        for name in ["users", "devices"] {
            let ids = words(form.raw(name))
            if !ids.isEmpty { members.set(name, .array(ids.map { .string($0) })) }
        }
        let isRemoval = form["act"] == "remove"
        let everyPhone = form["all_of_type"] != nil
        if everyPhone { members.set("all_of_type", true) }
        do {
            guard members.object?.isEmpty == false else {
                throw Problem.invalidRequest("Nobody is named. Fill in 'Users' or 'Phones', or check 'Every phone'.")
            }
            var request: JSONValue = isRemoval ? ["remove": members] : ["add": members]
            if let alert = try AlertForm.alert(form) { request.set("alert", alert) }
            if everyPhone, !isRemoval, form["step"] != "confirm" {
                return try await page(visit, outcome: confirmation(visit))
            }
            let path: APIPath = "/v1/apps/\(app)/activities/\(id)/audience"
            try await visit.send("POST", path, request, idempotencyKey: form["key"])
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            return try await page(visit, outcome: Parts.problem(problem), status: problem.status)
        }
        let word = isRemoval ? "removed" : "added"
        return .redirect(Address("/console/activity/audience", ["app": app, "id": id, "done": word]))
    }

    /// Asks before every phone gets a card, because a removal does not take started cards away.
    private static func confirmation(_ visit: Visit) -> HTML {
        let carried = visit.form.entries.filter { $0.name != FormToken.name && $0.name != "step" }.html { entry in
            "<input type=\"hidden\" name=\"\(entry.name)\" value=\"\(entry.value)\">"
        }
        return """
            <section class="plan" aria-label="Confirm"><h2>Add every phone?</h2>
            <p>Every phone with a start token of the type gets a card. Removing it later does not take started cards away.</p>
            <form method="post" class="confirm">\(visit.formToken.html)\(carried)<input type="hidden" name="step" value="confirm">\
            <button class="bad">Add every phone</button></form></section>
            """
    }

    private static func row(_ topic: AudienceTopic) -> HTML {
        let all = topic.topicsAll.map { " and \($0)" }.joined()
        let except = topic.exceptTopics.map { " except \($0)" }.joined()
        return "<tr><td>topic</td><td>\(topic.topic.rawValue + all + except)</td><td></td></tr>"
    }

    private static func row(_ member: AudienceMember) -> HTML {
        let known = member.isKnown ? Parts.badge("yes", .good) : Parts.badge("no", .warn)
        let (kind, id) =
            switch member.name {
            case .user(let id): ("user", id.rawValue)
            case .device(let id): ("phone", id.rawValue)
            }
        return "<tr><td>\(kind)</td><td><span class=\"name\">\(id)</span></td><td>\(known)</td></tr>"
    }

    /// The ids of a text, between spaces, commas or lines.
    private static func words(_ text: String?) -> [String] {
        (text ?? "").split { $0.isWhitespace || $0 == "," }.map(String.init)
    }

    private static func page(_ visit: Visit, outcome: HTML, status: Int = 200) async throws -> ConsoleAnswer {
        let choice = try await visit.choice()
        let id = visit.query.exact("id") ?? ""
        let path: APIPath = "/v1/apps/\(choice.id)/activities/\(id)/audience"
        let audience = try await visit.get(
            path.with(["limit": "50", "cursor": visit.query["cursor"]]),
            as: AudiencePage.self
        )
        let room = Address("/console/activity", ["app": choice.id, "id": id])
        let older = audience.nextCursor.map {
            Address("/console/activity/audience", ["app": choice.id, "id": id, "cursor": $0])
        }
        let done = visit.query["done"].map { word -> HTML in
            let text = word == "removed" ? "Removed. Cards that have started stay." : "Added. Their phones are started."
            return Parts.note(.good, HTML(text))
        }
        return Layout(visit: visit, title: "Audience of \(id)", place: .activities, choice: choice).page(
            """
            <p class="crumb"><a href="\(room)">\(id)</a></p>
            <h1>Audience</h1>\(done)\(outcome)
            \(audience.allOfType ? "<p>Every phone with a start token of the type belongs to it.</p>" as HTML : "")
            \(Parts.table("Audience", ["Kind", "Id", "Registered"], audience.topics.map(row) + audience.items.map(row), empty: "It names nobody."))\(Parts.more(older))
            <form method="post" class="fields">\(visit.formToken.html)
            <input type="hidden" name="key" value="\(Base64URL.encode(SecureRandom.bytes(16)))">
            <div><label for="users">Users <small>ids with spaces between them</small></label><textarea id="users" name="users" rows="2" spellcheck="false">\n\(visit.form.raw("users") ?? "")</textarea></div>
            <div><label for="devices">Phones <small>ids with spaces between them</small></label><textarea id="devices" name="devices" rows="2" spellcheck="false">\n\(visit.form.raw("devices") ?? "")</textarea></div>
            <div class="span checks"><label class="check"><input type="checkbox" name="all_of_type" value="true"\(visit.form["all_of_type"] == nil ? "" : " checked" as HTML)> Every phone with a start token of the type</label></div>
            <div><label for="alert_title">Alert title <small>for those who are added</small></label><input id="alert_title" name="alert_title" value="\(visit.form["alert_title"] ?? "")"></div>
            <div><label for="alert_body">Alert text</label><input id="alert_body" name="alert_body" value="\(visit.form["alert_body"] ?? "")"></div>
            <div class="span"><button class="main" name="act" value="add">Add</button> <button name="act" value="remove">Remove</button></div>
            </form>
            """,
            status: status
        )
    }
}
