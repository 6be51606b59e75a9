import APITypes
import ActivityModel
import JSON
import ReportTypes

/// What operators did.
enum AuditPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try? await visit.choice()  // entries may exist before the first app, and after the last
        let (action, key) = (visit.query["action"], visit.query["key"])
        let app = visit.query["app"]
        let page = try await visit.get(
            APIPath("/v1/audit").with([
                "bundle_id": app, "action": action, "key_id": key, "limit": "50", "cursor": visit.query["cursor"],
            ]),
            as: Page<AuditEntry>.self
        )
        let rows = page.items.map { entry -> HTML in
            let details: HTML =
                entry.before == nil && entry.after == nil
                ? ""
                : """
                <details><summary>Before and after</summary>\(entry.before.map { Parts.json($0, label: "Before") })\
                \(entry.after.map { Parts.json($0, label: "After") })</details>
                """
            return """
                <tr><td>\(Parts.when(entry.at, now: visit.now))</td><td>\(Parts.badge(entry.action, .plain))</td><td>\(subject(entry))</td>\
                <td>\(entry.bundleID?.rawValue ?? "–")</td><td title="\(entry.keyID)">\(entry.keyName ?? entry.keyID)</td><td class="text">\(details)</td></tr>
                """
        }
        let options = ([""] + AuditAction.allCases.map(\.rawValue)).html { word in
            let selected: HTML = word == action ?? "" ? " selected" : ""
            return
                "<option value=\"\(word)\"\(selected)>\(word.isEmpty ? "all" : word.replacing("_", with: " "))</option>"
        }
        let older = page.nextCursor.map {
            Address("/console/audit", ["app": app, "action": action, "key": key, "cursor": $0])
        }
        return Layout(visit: visit, title: "Audit", place: .audit, choice: choice).page(
            """
            <h1>Audit</h1>
            <form class="filter" action="/console/audit">
            <label for="action">Action</label><select id="action" name="action">\(options)</select>
            <label for="key">Key id</label><input id="key" name="key" value="\(key ?? "")" spellcheck="false">
            <label for="app">App</label><input id="app" name="app" value="\(app ?? "")" spellcheck="false"><button>Filter</button></form>
            \(Parts.table("Audit log", ["When", "Action", "Subject", "App", "Key", "Details"], rows, empty: "No entry matches.", stacks: true))\(Parts.more(older))
            """
        )
    }

    /// The subject, as a link to its page if it has one. The page also knows what is gone.
    private static func subject(_ entry: AuditEntry) -> HTML {
        let (app, subject) = (entry.bundleID?.rawValue, entry.subject)
        let page: Address? =
            switch AuditAction(rawValue: entry.action) {
            case .appChanged, .appDeleted: Address("/console", ["app": subject])
            case .channelCreated, .channelDeleted: Address("/console/channel", ["app": app, "id": subject])
            case .scheduleCancelled, .scheduleRun: Address("/console/schedule", ["app": app, "id": subject])
            case .haltLifted: Address("/console/halt", ["app": app, "environment": subject])
            case .typeChanged: Address("/console/type", ["app": app, "name": subject])
            case .apiKeyCreated, .apiKeyRevoked, .channelsReconciled,
                .deviceDeleted, .ticketIssued, .ticketKeyCreated, .ticketKeyRevoked, .ticketsRevoked, .userErased,
                .webhookChanged, .webhookDeleted, .webhookReplayed, nil:
                nil
            }
        return page.map { "<a href=\"\($0)\">\(subject)</a>" } ?? HTML(subject)
    }
}
