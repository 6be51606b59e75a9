import APITypes
import ActivityModel
import JSON

/// What happened, live.
enum EventsPage {
    /// The further pages that are read while none has an event that matches.
    private static let mostReads = 10

    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.events)
        let app = choice.id
        let (kind, activity, device) = (visit.query["kind"], visit.query.exact("activity"), visit.query.exact("device"))
        let path = APIPath("/v1/events").with([
            "bundle_id": app, "activity_id": activity, "device_id": device, "kind": kind, "limit": "50",
            "order": "newest",
        ])
        var page: Page<EventResource> = try await visit.get(path.with(["cursor": visit.query["cursor"]]))
        // A page may be empty and not the last. Nobody has to click through those.
        for _ in 0..<mostReads {
            guard page.items.isEmpty, let cursor = page.nextCursor else { break }
            page = try await visit.get(path.with(["cursor": cursor]))
        }
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
