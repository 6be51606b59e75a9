import APITypes
import ActivityModel
import Cryptography
import JSON
import ReportTypes

/// What the audit log knows of something that is gone.
enum Gone {
    /// The entries of the log that are looked at: the newest ones of the action.
    private static let most = 1_000

    /// A page for an app that was deleted; nil for any other problem.
    static func app(_ problem: Problem, _ visit: Visit) async -> ConsoleAnswer? {
        guard problem.status == 404, let app = visit.query["app"],
            await visit.text("/v1/apps/\(app)") == nil
        else { return nil }
        let layout = Layout(visit: visit, title: app, place: .now)
        return await page(layout, app, "No app has this bundle id.", .appDeleted, in: nil)
    }

    /// A page for something that is gone: what it was, and who ended it.
    static func page(
        _ layout: Layout,
        _ subject: String,
        _ lead: HTML,
        _ action: AuditAction,
        in app: String?,
        events: [EventResource] = []
    ) async -> ConsoleAnswer {
        let past: HTML =
            events.isEmpty
            ? "" : "<section><h2 id=\"past\">Events</h2>\(EventsPage.table(events, layout.visit))</section>"
        let memory = await memory(of: subject, action, in: app, layout.visit)
        return layout.page("<h1>\(layout.title)</h1><p class=\"lead\">\(lead)</p>\(memory)\(past)", status: 404)
    }

    /// Says who ended it, when, and what it was.
    private static func memory(
        of subject: String,
        _ action: AuditAction,
        in app: String?,
        _ visit: Visit
    ) async -> HTML {
        guard visit.allows(.operate) else {
            return "<p>The audit log says who did it. It needs the scope 'operate'.</p>"
        }
        let path = APIPath("/v1/audit").with([
            "bundle_id": app, "action": action.rawValue, "limit": String(most),
        ])
        // Without the log, the page says only that it is gone.
        let page = try? await visit.get(path, as: Page<AuditEntry>.self)
        // The log names people's devices by a hash.
        let names = [subject, "sha256:" + Base64URL.encode(SHA256.hash(subject))]
        guard let entry = page?.items.first(where: { names.contains($0.subject) }) else {
            return page?.nextCursor == nil
                ? "<p>The audit log does not name it.</p>"
                : "<p>The newest \(most) such entries of the audit log do not name it.</p>"
        }
        let verb: HTML =
            switch action {
            case .scheduleCancelled: "cancelled"
            case .haltLifted: "resumed"
            default: "deleted"
            }
        return """
            <p>It was \(verb) \(Parts.when(entry.at, now: visit.now)) with the key <bdi>\(entry.keyName ?? entry.keyID)</bdi>.</p>
            \(entry.before.map { "<p>It was:</p>\(Parts.json($0, label: "What it was"))" as HTML })
            """
    }
}
