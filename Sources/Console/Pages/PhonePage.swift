import APITypes
import ActivityModel
import ReportTypes

/// One phone: what it shows and why, its tokens, and what happened to it.
enum PhonePage {
    /// The live activities on one page. A phone shows a few at a time.
    private static let most = 20

    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.phones)
        let (app, id) = (choice.id, visit.query.exact("id") ?? "")
        let layout = Layout(
            visit: visit,
            title: id,
            place: .phones,
            choice: choice,
            live: Address("/console/events/stream", ["bundle_id": app, "device_id": id])
        )
        let device: DeviceResource
        do {
            device = try await visit.get("/v1/apps/\(app)/devices/\(id)")
        } catch let problem as Problem where problem.status == 404 {
            let lead: HTML = "No phone has this id in \(app). Everything about a phone is deleted with it."
            return await Gone.page(layout, id, lead, .deviceDeleted, in: app)
        }
        let (stories, next) = try await stories(of: id, visit, app)
        let chosen =
            visit.query.exact("activity").flatMap { name in stories.first { $0.activityID.rawValue == name } }
            ?? stories.first
        let older = next.map { Address("/console/phone", ["app": app, "id": id, "cursor": $0]) }
        // A token that was rejected during a halt says nothing of the phone.
        let halt = await HaltsPage.note(app, device.environment, visit)
        return layout.page(
            """
            <div class="title"><h1>\(id)</h1>\(Parts.badge(device.environment.rawValue, .plain))</div>
            <div id="phone-facts" data-part>\(facts(device, visit, app))</div>
            <section><h2 id="shows">What it shows, and why</h2>
            <div id="phone-shows" data-part>\(halt)\(table(stories, id, app))\(Parts.more(older))</div></section>
            <section><h2 id="tokens">Start tokens</h2>\(tokens(device, visit))</section>
            \(chosen.map { story($0, app, visit) })
            """
        )
    }

    private static func facts(_ device: DeviceResource, _ visit: Visit, _ app: String) -> HTML {
        let user = device.userID.map { user -> HTML in
            "<a href=\"\(Address("/console/phones", ["app": app, "q": "user:" + user.rawValue]))\">\(user.rawValue)</a>"
        }
        let rejection: HTML? = device.deviceTokenState == .rejected ? Parts.badge("rejected", .bad) : nil
        return Parts.facts([
            ("User", user ?? "–"),
            ("iOS", HTML(device.osVersion?.description ?? "unknown")),
            ("App", HTML(device.appVersion?.description ?? "unknown")),
            ("Live Activities", device.activitiesEnabled ? "on" : Parts.badge("off", .warn)),
            ("Frequent pushes", device.frequentPushesEnabled ? "on" : "off"),
            ("Device token", "<code>\(device.deviceToken ?? "–")</code> \(rejection)"),
            ("Reported", Parts.when(device.updatedAt, now: visit.now)),
        ])
    }

    /// What the API says about this phone in each live activity that it follows, and in the one that the address names.
    private static func stories(
        of id: String,
        _ visit: Visit,
        _ app: String
    ) async throws -> (stories: [TimelineAnswer], next: String?) {
        let page = try await visit.get(
            APIPath("/v1/apps/\(app)/activities").with([
                "state": "live", "device_id": id, "limit": String(most), "cursor": visit.query["cursor"],
            ]),
            as: Page<ActivityResource>.self
        )
        var names = page.items.map(\.activityID.rawValue)
        if let named = visit.query.exact("activity"), !names.contains(named) { names.insert(named, at: 0) }
        let stories = await withTaskGroup(of: (Int, TimelineAnswer?).self) { group in
            for (index, name) in names.enumerated() {
                group.addTask {
                    let path = APIPath("/v1/apps/\(app)/activities/\(name)/timeline")
                    // An activity that was deleted meanwhile is left out.
                    return (index, try? await visit.get(path.with(["device_id": id, "limit": "40"])))
                }
            }
            let answers = await group.reduce(into: [(Int, TimelineAnswer?)]()) { $0.append($1) }
            return answers.sorted { $0.0 < $1.0 }.compactMap(\.1)
        }
        return (stories, page.nextCursor)
    }

    private static func table(_ stories: [TimelineAnswer], _ id: String, _ app: String) -> HTML {
        let rows = stories.map { story -> HTML in
            let name = story.activityID.rawValue
            let why = Address("/console/phone", ["app": app, "id": id, "activity": name])
            return """
                <tr><td><a href="\(Address("/console/activity", ["app": app, "id": name]))">\(name)</a></td>\
                <td>\(Parts.badge(story.state))</td><td>\(Parts.badge(story.verdict.code, tone(story.verdict.code)))</td>\
                <td class="text">\(story.verdict.text) <a href="\(why)">Story</a></td></tr>
                """
        }
        return Parts.table(
            "Cards",
            ["Activity", "State", "Verdict", "Why"],
            rows,
            empty: "It follows no live activity.",
            stacks: true
        )
    }

    private static func tone(_ code: String) -> Parts.Tone {
        switch code {
        case "sent", "current": .good
        case "pending", "retrying", "held_back", "start_pending", "start_in_flight", "start_retrying", "scheduled":
            .busy
        case "sent_low_priority", "sent_over_budget", "waiting_for_token", "waiting_to_begin", "start_sent",
            "start_unknown":
            .warn
        case "ended", "card_gone", "card_forgotten", "expired": .plain
        default: .bad
        }
    }

    private static func tokens(_ device: DeviceResource, _ visit: Visit) -> HTML {
        let rows = device.startTokens.sorted { $0.key.rawValue < $1.key.rawValue }.map { name, token -> HTML in
            """
            <tr><td>\(name.rawValue)</td><td><code>\(token.token)</code></td><td>\(Parts.badge(token.state.rawValue, token.state == .live ? .good : .bad))</td>\
            <td class="num">\(token.generation)</td><td>\(Parts.when(token.registeredAt, now: visit.now))</td></tr>
            """
        }
        return Parts.table(
            "Start tokens",
            ["Type", "Token", "State", "#Generation", "Reported"],
            rows,
            empty: "None. Tally cannot start a card on this phone."
        )
    }

    private static func story(_ story: TimelineAnswer, _ app: String, _ visit: Visit) -> HTML {
        """
        <section><h2 id="story">Story of \(story.activityID.rawValue) on this phone</h2>
        <div id="phone-story" data-part>\(TimelineDrawing(story.page).html)\(MatchRoom.story(story, app, visit))</div></section>
        """
    }
}
