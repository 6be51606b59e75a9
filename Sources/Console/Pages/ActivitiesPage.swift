import APITypes
import ActivityModel

/// The activities of an app, filtered by what the address says.
enum ActivitiesPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.activities)
        let app = choice.id
        let text = visit.query.exact("q") ?? ""
        let search = ActivitySearch(text)
        let layout = Layout(
            visit: visit,
            title: "Activities",
            place: .activities,
            choice: choice,
            live: Address("/console/events/stream", ["bundle_id": app, "kind": "change_accepted,pushes_answered"])
        )
        let found = try await search.run(visit, app)
        let sparks = await changes(of: found.activities, visit, app)
        let older = found.next.map { Address("/console/activities", ["app": app, "q": text, "cursor": $0]) }
        return layout.page(
            """
            <h1>Activities</h1>
            \(filter(app, text))
            \(found.activities.isEmpty ? (search.complaint ?? search.hint).map { Parts.note(.warn, "\($0)") } : nil)
            <div id="list" data-part>\(table(found.activities, app: app, visit: visit, sparks: sparks))
            \(found.note.map { "<p class=\"hint\">\($0)</p>" as HTML })\(Parts.more(older))</div>
            """
        )
    }

    private static func filter(_ app: String, _ text: String) -> HTML {
        let quick = ["", "state:live", "state:scheduled", "state:ended"].html { words in
            let address = Address("/console/activities", ["app": app, "q": words.isEmpty ? nil : words])
            let current: HTML = words == text.trimmed ? " aria-current=\"true\"" : ""
            return "<a href=\"\(address)\"\(current)>\(words.isEmpty ? "all" : String(words.dropFirst(6)))</a>"
        }
        return """
            <form class="filter" action="/console/activities"><input type="hidden" name="app" value="\(app)">
            <label for="q">Filter</label><input id="q" name="q" value="\(text)" placeholder="type:GameAttributes state:live, or an id" \
            spellcheck="false" autocomplete="off"><button>Search</button><span class="quick">\(quick)</span></form>
            """
    }

    static func table(
        _ activities: [ActivityResource],
        app: String,
        visit: Visit,
        sparks: [String: HTML] = [:],
        empty: HTML = "No activity matches."
    ) -> HTML {
        let rows = activities.html { activity in
            let id = activity.activityID.rawValue
            let spark: HTML = sparks.isEmpty ? "" : "<td>\(sparks[id])</td>"
            return """
                <tr><td><a href="\(Address("/console/activity", ["app": app, "id": id]))">\(id)</a></td>
                <td><span class="name">\(activity.type.rawValue)</span></td><td>\(Parts.badge(activity.state))</td>
                <td class="num">\(activity.revision)</td>\(spark)
                <td>\(Drawing.progress(activity.progress, label: "Progress of \(id)", compact: true))</td>
                <td class="num">\(Parts.count(activity.progress.destinations))</td>
                <td>\(Parts.when(activity.timestamp.map { Instant(unixSeconds: $0) } ?? activity.createdAt, now: visit.now))</td></tr>
                """
        }
        return Parts.table(
            "Activities",
            ["Activity", "Type", "State", "#Revision"] + (sparks.isEmpty ? [] : ["Changes"])
                + ["Newest revision", "#Destinations", "Changed"],
            activities.isEmpty ? [] : [rows],
            empty: empty
        )
    }

    /// A small drawing of the latest changes of each activity, as far as they are among the newest events of Tally: one
    /// read of the database, however many activities there are.
    private static func changes(
        of activities: [ActivityResource],
        _ visit: Visit,
        _ app: String
    ) async -> [String: HTML] {
        let path = APIPath("/v1/events").with([
            "bundle_id": app, "kind": "change_accepted", "order": "newest", "limit": "1000",
        ])
        // Drawings that cannot be made are left out; the rows say the rest.
        let events = try? await visit.get(path, as: Page<EventResource>.self)
        let times = Dictionary(grouping: events?.items ?? []) { $0.activityID?.rawValue ?? "" }
        return activities.reduce(into: [:]) { drawings, activity in
            let id = activity.activityID.rawValue
            drawings[id] = Drawing.spark(times[id, default: []].map(\.at), label: "Changes of \(id)")
        }
    }
}

/// A search for activities, as `type:`, `state:` and an id. The whole search may also be an id that looks like a filter.
struct ActivitySearch {
    private var type: String?
    private var state: String?
    /// The words that are no filter.
    private var id: String?
    /// Why nothing can match.
    private(set) var complaint: String?
    /// What to say of the search if nothing matches it.
    private(set) var hint: String?

    struct Found {
        var activities: [ActivityResource]
        var next: String?
        var note: String?
    }

    init(_ text: String) {
        for word in text.split(separator: " ") {
            let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
            switch (parts.first, parts.count) {
            case ("type", 2): type = parts[1]
            case ("state", 2):
                state = parts[1]
                if ActivityState(rawValue: parts[1]) == nil {
                    let states = ActivityState.allCases.map(\.rawValue).joined(separator: ", ")
                    complaint = "'\(parts[1])' is not a state. The states are \(states)."
                }
            default: id = id.map { "\($0) \(word)" } ?? String(word)
            }
        }
        // A part of an id may have several blanks in a row.
        if type == nil, state == nil, !text.trimmed.isEmpty { id = text.trimmed }
        guard let part = id, part.contains(":") else { return }
        hint = "'\(part)' was looked for in the ids. The filters are 'type:NAME' and 'state:NAME', without a blank."
    }

    func run(_ visit: Visit, _ app: String) async throws -> Found {
        let words = visit.query["cursor"] == nil ? FindPage.words(visit) : []
        for word in words {
            do {
                return Found(activities: [try await visit.get("/v1/apps/\(app)/activities/\(word)")])
            } catch let problem as Problem where problem.status == 404 || problem.status == 422 {
                // It is no whole id.
            }
        }
        if complaint != nil { return Found(activities: []) }
        guard let id else { return try await list(visit, app) }
        return try await part(id, visit, app)
    }

    private func part(_ text: String, _ visit: Visit, _ app: String) async throws -> Found {
        do {
            return try await list(visit, app, part: text)
        } catch let problem as Problem where problem.status == 422 {
            return Found(activities: [], note: "An id has 1 to 128 printable ASCII characters, and is not '.' or '..'.")
        }
    }

    private func list(_ visit: Visit, _ app: String, part: String? = nil) async throws -> Found {
        let page = try await visit.get(
            APIPath("/v1/apps/\(app)/activities").with([
                "type": type, "state": state, "id_contains": part, "limit": "25", "cursor": visit.query["cursor"],
            ]),
            as: Page<ActivityResource>.self
        )
        return Found(activities: page.items, next: page.nextCursor)
    }
}
