import APITypes
import ActivityModel
import JSON

/// What happened, live.
enum EventsPage {
    /// The further pages that are read while none has an event that matches.
    private static let mostReads = 10

    /// Which events of an app are shown.
    private struct Filter: Equatable {
        let app: String
        let kind: String?
        var activity: String?
        var device: String?

        /// The same without the blanks around its ids.
        var trimmed: Filter {
            var filter = self
            filter.activity = Self.trimmed(activity)
            filter.device = Self.trimmed(device)
            return filter
        }

        private static func trimmed(_ id: String?) -> String? { id.flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }

        var path: APIPath {
            APIPath("/v1/events").with([
                "bundle_id": app, "activity_id": activity, "device_id": device, "kind": kind, "limit": "50",
                "order": "newest",
            ])
        }
    }

    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.events)
        let app = choice.id
        var filter = Filter(
            app: app,
            kind: visit.query["kind"],
            activity: visit.query.exact("activity"),
            device: visit.query.exact("device")
        )
        var page = try await readTyped(filter, visit)
        // A blank at an end belongs to the id, or was pasted with it.
        if page.items.isEmpty, filter != filter.trimmed, visit.query["cursor"] == nil {
            filter = filter.trimmed
            page = try await read(filter, visit)
        }
        let (kind, activity, device) = (filter.kind, filter.activity, filter.device)
        let stream = Address(
            "/console/events/stream",
            ["bundle_id": app, "activity_id": activity, "device_id": device, "kind": kind]
        )
        let older = page.nextCursor.map { cursor in
            Address(
                "/console/events",
                ["app": app, "activity": activity, "device": device, "kind": kind, "cursor": cursor]
            )
        }
        let further: HTML = page.items.isEmpty ? "Look further back" : "Older"
        return Layout(visit: visit, title: "Events", place: .events, choice: choice).page(
            """
            <h1>Events</h1>
            <form class="filter" action="/console/events"><input type="hidden" name="app" value="\(app)">
            <label for="kind">Kind</label><input id="kind" name="kind" value="\(kind ?? "")" placeholder="token_died,demoted" spellcheck="false">
            <label for="activity">Activity</label><input id="activity" name="activity" value="\(activity ?? "")" spellcheck="false">
            <label for="device">Phone</label><input id="device" name="device" value="\(device ?? "")" spellcheck="false">
            <button>Filter</button></form>
            <section><h2 id="live">Live</h2>
            <p class="hint" id="tail-state" role="status">Needs JavaScript.</p>
            <div class="wide stacks" tabindex="0" role="region" aria-label="Live events"><table id="tail" data-tail="\(stream)"><thead><tr><th scope="col">When</th><th scope="col">Kind</th>\
            <th scope="col">Activity</th><th scope="col">Phone</th><th scope="col">Detail</th></tr></thead><tbody></tbody></table></div></section>
            <section><h2 id="past">Before</h2>\(table(page.items, visit))\(Parts.more(older, further))</section>
            """
        )
    }

    /// Reads a page of the events as their filter was typed. One that is refused for the blanks in it finds nothing: no id has
    /// a tab.
    private static func readTyped(_ filter: Filter, _ visit: Visit) async throws -> Page<EventResource> {
        do {
            return try await read(filter, visit)
        } catch let problem as Problem where problem.status == 422 && filter != filter.trimmed {
            return Page(items: [])
        }
    }

    private static func read(_ filter: Filter, _ visit: Visit) async throws -> Page<EventResource> {
        var page: Page<EventResource> = try await visit.get(filter.path.with(["cursor": visit.query["cursor"]]))
        // A page may be empty and not the last. Nobody has to click through those.
        for _ in 0..<mostReads {
            guard page.items.isEmpty, let cursor = page.nextCursor else { break }
            page = try await visit.get(filter.path.with(["cursor": cursor]))
        }
        return page
    }

    /// The stream that the live parts of pages follow.
    static func stream(_ visit: Visit) async throws -> ConsoleAnswer {
        let path = APIPath("/v1/events").with([
            "bundle_id": visit.query["bundle_id"], "activity_id": visit.query.exact("activity_id"),
            "device_id": visit.query.exact("device_id"), "kind": visit.query["kind"],
        ])
        let call = ConsoleCall(
            method: "GET",
            path: path,
            secret: visit.secret,
            accept: "text/event-stream",
            lastEventID: visit.request.fields.lastEventID
        )
        return ConsoleAnswer(status: 200, body: .events(call))
    }

    private static func detail(_ detail: JSONObject) -> HTML {
        detail.entries.filter { !$0.value.isNull }.html { name, value in
            "<span class=\"pair\"><small>\(name.replacing("_", with: " "))</small> \(value.string ?? value.text)</span> "
        }
    }

    static func table(_ events: [EventResource], _ visit: Visit) -> HTML {
        let rows = events.map { event -> HTML in
            let app = event.bundleID?.rawValue
            let activity = event.activityID.map { id -> HTML in
                "<a href=\"\(Address("/console/activity", ["app": app, "id": id.rawValue]))\">\(id.rawValue)</a>"
            }
            let device = event.deviceID.map { id -> HTML in
                "<a href=\"\(Address("/console/phone", ["app": app, "id": id.rawValue]))\">\(id.rawValue)</a>"
            }
            return """
                <tr><td>\(Parts.when(event.at, now: visit.now))</td><td>\(Parts.badge(event.kind, .plain))</td><td>\(activity)</td><td>\(device)</td>\
                <td class="text">\(detail(event.detail))</td></tr>
                """
        }
        return Parts.table(
            "Events",
            ["When", "Kind", "Activity", "Phone", "Detail"],
            rows,
            empty: "No event matches.",
            stacks: true
        )
    }
}
