import APITypes
import ActivityModel
import JSON

/// One activity: what phones show, how far the newest revision has come, and why.
enum MatchRoom {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.activities)
        let (app, id) = (choice.id, visit.query.exact("id") ?? "")
        let activity: ActivityResource
        do {
            activity = try await visit.get("/v1/apps/\(app)/activities/\(id)")
        } catch let problem as Problem where problem.status == 404 {
            return try await gone(visit, choice, id)
        }
        let device = visit.query.exact("device")
        let path = APIPath("/v1/apps/\(app)/activities/\(id)/timeline")
        async let answer = visit.get(path.with(["limit": "200", "device_id": device]), as: TimelineAnswer.self)
        async let cards = visit.get(
            APIPath("/v1/apps/\(app)/activities/\(id)/subscriptions").with(["limit": "12"]),
            as: Page<SubscriptionResource>.self
        )
        // They count pushes, so the drawing covers the match however many phones follow it.
        let limit = 1_000
        async let moments = visit.get(
            APIPath("/v1/events")
                .with(["bundle_id": app, "activity_id": id, "order": "newest", "limit": String(limit)]),
            as: Page<EventResource>.self
        )
        let timeline = try await answer
        let drawing =
            device == nil
            ? TimelineDrawing(events: try await moments.items, limit: limit) : TimelineDrawing(timeline.page)
        let layout = Layout(
            visit: visit,
            title: id,
            place: .activities,
            choice: choice,
            live: Address("/console/events/stream", ["bundle_id": app, "activity_id": id])
        )
        let here = Address("/console/activity", ["app": app, "id": id, "device": device])
        return layout.page(
            """
            <div id="room-head" data-part>\(head(activity, visit, app))</div>
            \(sent(visit))
            <div class="columns">
            <section aria-label="The card"><div id="room-card" data-part>\(CardDrawing(activity: activity).html)</div></section>
            <section><h2 id="delivery">Revision <span id="room-revision" data-part>\(activity.revision)</span></h2>
            <div id="room-delivery" data-part>\(delivery(activity, timeline.verdict, app))</div></section>
            <section><h2 id="budget">Budget</h2>
            <div id="room-budget" data-part>\(BudgetDrawing.html(timeline.budget, timeline.page.items))</div></section>
            </div>
            <section><h2 id="timeline">Timeline\(device.map { " of \($0)" as HTML })</h2>
            \(device == nil ? "" : whole(app, id))
            <div id="room-timeline" data-part>\(drawing.html)\(story(timeline, app, visit))</div></section>
            <section><h2 id="audience">Audience</h2>
            <div id="room-audience" data-part>\(audience(activity, try await cards, app, visit))</div></section>
            <section><h2 id="schedules">Schedules</h2>
            <div id="room-schedules" data-part>\(SchedulesPage.table(activity.schedules, app: app, visit: visit, returningTo: here))</div></section>
            <section><h2 id="content">Content</h2><div class="columns" id="room-content" data-part>
            <div><h3>Content state</h3>\(Parts.json(.object(activity.contentState), label: "Content state"))</div>
            <div><h3>Attributes</h3>\(Parts.json(.object(activity.attributes), label: "Attributes"))</div></div></section>
            """
        )
    }

    private static func head(_ activity: ActivityResource, _ visit: Visit, _ app: String) -> HTML {
        let id = activity.activityID.rawValue
        let query: KeyValuePairs<String, String?> = ["app": app, "id": id]
        let acts: HTML =
            visit.allows(.publish) && activity.state != .ended
            ? """
            <p class="acts"><a class="button main" href="\(Address("/console/activity/change", query))">Post a change</a> \
            <a class="button" href="\(Address("/console/activity/audience", query))">Audience</a> \
            <a class="button" href="\(Address("/console/activity/end", query))">End</a></p>
            """ : ""
        let type = Address("/console/type", ["app": app, "name": activity.type.rawValue])
        return """
            <div class="title"><h1>\(id)</h1>\(Parts.badge(activity.state))\(acts)</div>
            \(Parts.facts([
                ("Type", "<a href=\"\(type)\">\(activity.type.rawValue)</a>"),
                ("Environment", HTML(activity.environment.rawValue)),
                ("Delivery", HTML(activity.delivery.rawValue)),
                ("Channel", activity.channel.map { Parts.badge($0.state.rawValue, $0.state == .ready ? .good : .busy) } ?? "–"),
                ("Started", Parts.when(activity.startedAt ?? activity.startsAt, now: visit.now)),
                ("Ends", Parts.when(activity.endedAt ?? activity.endsAt, now: visit.now)),
            ]))
            """
    }

    private static func sent(_ visit: Visit) -> HTML {
        if let revision = visit.query["sent"] {
            return Parts.note(.good, "Accepted as revision \(revision). The bar below shows how far it has come.")
        }
        if visit.query["scheduled"] != nil { return Parts.note(.good, "Scheduled. It stands below under Schedules.") }
        return SchedulesPage.done(visit)
    }

    private static func delivery(_ activity: ActivityResource, _ verdict: Verdict, _ app: String) -> HTML {
        let halt = HaltsPage.link(verdict, app, activity.environment)
        let starts = activity.starts
        let counts =
            [
                ("to send", starts.pending), ("sent", starts.sent), ("unanswered", starts.unanswered),
                ("confirmed", starts.confirmed), ("withheld", starts.withheld), ("failed", starts.failed),
            ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" } + (starts.enrolling ? ["adding phones"] : [])
        let reasons = starts.reasons.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
        return """
            \(Drawing.progress(activity.progress, label: "Progress of revision \(activity.revision)"))
            \(Drawing.legend(activity.progress))
            <p class="verdict"><strong>\(verdict.code)</strong> \(verdict.text)\(halt)</p>
            \(counts.isEmpty ? "" : "<p class=\"hint\">Starts: \(counts.joined(separator: ", "))</p>" as HTML)
            \(reasons.isEmpty ? "" : "<p class=\"hint\">Reasons: \(reasons.joined(separator: ", "))</p>" as HTML)
            """
    }

    private static func whole(_ app: String, _ id: String) -> HTML {
        "<p><a href=\"\(Address("/console/activity", ["app": app, "id": id]))\">The timeline of the whole activity</a></p>"
    }

    /// The entries as a table, newest first.
    static func story(_ timeline: TimelineAnswer, _ app: String, _ visit: Visit) -> HTML {
        let rows = timeline.page.items.prefix(60).map { entry -> HTML in
            let phone = entry.deviceID.map { device -> HTML in
                "<a href=\"\(Address("/console/phone", ["app": app, "id": device.rawValue, "activity": timeline.activityID.rawValue]))\">\(device.rawValue)</a>"
            }
            return """
                <tr><td>\(Parts.when(entry.at, now: visit.now))</td><td>\(Parts.badge(entry.kind, tone(entry)))</td>\
                <td class="num">\(entry.revision.map { HTML(String($0)) })</td><td>\(phone)</td>\
                <td class="text"><bdi>\(entry.text)</bdi>\(addition(entry))</td></tr>
                """
        }
        return Parts.table(
            "Entries",
            ["When", "Kind", "#Revision", "Phone", "What"],
            rows,
            empty: "Nothing has happened yet.",
            stacks: true
        )
    }

    /// The reason, unless the sentence says it already.
    private static func addition(_ entry: TimelineEntry) -> HTML {
        guard let reason = entry.explanation, !entry.text.contains(reason) else { return "" }
        return " <small>\(reason)</small>"
    }

    private static func tone(_ entry: TimelineEntry) -> Parts.Tone {
        switch entry.kind {
        case "accepted": .busy
        case "push", "batch": entry.status.map { $0 == 200 ? .good : .bad } ?? .good
        case "priority", "registered": .plain
        default: .bad
        }
    }

    private static func audience(
        _ activity: ActivityResource,
        _ cards: Page<SubscriptionResource>,
        _ app: String,
        _ visit: Visit
    ) -> HTML {
        let id = activity.activityID.rawValue
        let rows = cards.items.map { card -> HTML in
            let phone = Address("/console/phone", ["app": app, "id": card.deviceID.rawValue, "activity": id])
            return """
                <tr><td><a href="\(phone)">\(card.deviceID.rawValue)</a></td><td>\(Parts.badge(card.state))</td>\
                <td>\(card.mode.rawValue)</td><td class="num">\(card.revision)</td><td><code>\(card.updateToken ?? "–")</code></td>\
                <td>\(Parts.when(card.registeredAt, now: visit.now))</td><td class="text">\(card.reason ?? "")</td></tr>
                """
        }
        return Parts.table(
            "Cards",
            ["Phone", "State", "Reached by", "#Revision", "Token", "Reported", "Why"],
            rows,
            empty: "No phone has reported a card. An app on a channel need not report one."
        )
            + (cards.nextCursor == nil
                ? "" : "<p class=\"hint\">The first \(rows.count) cards. Search for a phone to see another.</p>")
    }

    /// The activity was deleted, or never was. Its events outlive it for some days.
    private static func gone(_ visit: Visit, _ choice: AppChoice, _ id: String) async throws -> ConsoleAnswer {
        // Without its events the page says only that the activity is gone.
        let events = try? await visit.get(
            APIPath("/v1/events").with(["bundle_id": choice.id, "activity_id": id, "order": "newest", "limit": "50"]),
            as: Page<EventResource>.self
        )
        let known = events?.items ?? []
        let text: HTML =
            known.isEmpty
            ? "There is no activity with this id. Tally keeps activities for a time after their end, and events for some days."
            : "This activity was deleted. These are its last events."
        return Layout(visit: visit, title: id, place: .activities, choice: choice).page(
            "<h1>\(id)</h1><p class=\"lead\">\(text)</p>\(EventsPage.table(known, visit))",
            status: 404
        )
    }
}

extension HTML {
    static func + (left: HTML, right: HTML) -> HTML { HTML(joining: [left, right]) }
}
