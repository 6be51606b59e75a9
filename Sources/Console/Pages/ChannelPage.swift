import APITypes
import ActivityModel
import ReportTypes

/// One channel: which activity it serves, and what became of it.
enum ChannelPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let choice = try await visit.choice(.channels)
        let (app, id) = (choice.id, visit.query.exact("id") ?? "")
        let layout = Layout(visit: visit, title: "Channel \(id)", place: .channels, choice: choice)
        let channel: ChannelResource
        do {
            channel = try await visit.get("/v1/apps/\(app)/channels/\(id)")
        } catch let problem as Problem where problem.status == 404 || problem.status == 422 {
            let lead: HTML =
                "No channel has this id in \(app). Tally forgets a deleted channel together with its activity."
            return await Gone.page(layout, id, lead, .channelDeleted, in: app)
        }
        let activity = channel.activityID.map { name -> HTML in
            "<a href=\"\(Address("/console/activity", ["app": app, "id": name.rawValue]))\">\(name.rawValue)</a>"
        }
        return layout.page(
            """
            <div class="title"><h1>\(layout.title)</h1>\(ChannelsPage.badge(channel.state))</div>
            \(Parts.facts([
                ("Activity", activity ?? "none yet"),
                ("Environment", HTML(channel.environment.rawValue)),
                ("Storage", HTML(channel.storage.rawValue.replacing("_", with: " "))),
                ("Followers", "\(Parts.count(channel.followers))"),
                ("Apple's id", "<code>\(channel.apnsChannelID?.rawValue ?? "–")</code>"),
                ("Made", Parts.when(channel.createdAt, now: visit.now)),
                ends(channel, visit),
            ]))
            \(channel.reason.map { Parts.note(.warn, HTML($0)) })
            """
        )
    }

    private static func ends(_ channel: ChannelResource, _ visit: Visit) -> (String, HTML) {
        if let time = channel.deletedAt { return ("Deleted", Parts.when(time, now: visit.now)) }
        if let time = channel.lostAt { return ("Lost", Parts.when(time, now: visit.now)) }
        return ("Will be deleted", Parts.when(channel.deleteAt, now: visit.now))
    }
}
