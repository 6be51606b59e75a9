import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

struct Events: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "What happened: changes, answers of APNs, tokens that died, demotions, halts.",
        discussion: """
            Starts with the oldest event that is kept, or after --cursor or --since. With --follow, shows events as they happen, \
            from now on by default. It survives restarts of the server, and misses nothing. --limit stops after that many events; with \
            --since or --follow the default is no limit. docs/reference/events.md lists the kinds and their details. With --json, \
            each line is an event as the API tells it.
            """,
        examples: "tally events --since 10m",
        "tally events --follow --kind token_died"
    )

    @Option(help: "Only events of this activity.") var activity: Checked<ActivityID>?
    @Option(help: "Only events of this device.") var device: Checked<DeviceID>?
    @Option(help: "Only events of this kind; repeat for several.") var kind: [String] = []
    @Option(help: "Only from then on: RFC 3339, or how long ago, such as 10m.") var since: Checked<PointInTime>?
    @Flag(help: "Wait for more.") var follow = false
    @OptionGroup var page: PageOptions
    @OptionGroup var app: AppOption

    func run(_ session: CommandSession) async throws {
        let query = EventQuery(
            app: app.app == nil ? nil : try session.app(),
            activity: activity?.value,
            device: device?.value,
            kinds: kind
        )
        if follow { return try await followEvents(query, session) }
        guard since != nil else {
            let found = try await session.client.events(query, page.request)
            Self.show(found.items[...], in: session)
            if let cursor = found.nextCursor { Terminal.printError("More follow: --cursor \(cursor)") }
            return
        }
        let client = try session.patientClient(deadline: .seconds(300))
        var pages = EventPages(cursor: page.cursor, oldest: oldest, remaining: page.limit)
        while !pages.isAtEnd {
            let found = try await client.events(query, pages.next)
            Self.show(pages.take(found)[...], in: session)
        }
        if pages.isCut, let cursor = pages.cursor { Terminal.printError("More follow: --cursor \(cursor)") }
    }

    private func followEvents(_ query: EventQuery, _ session: CommandSession) async throws {
        let client = try session.patientClient(deadline: .seconds(300))
        let oldest = oldest
        let place = page.cursor ?? (oldest == nil ? nil : Self.beginning)
        var shown = 0
        for try await event in client.follow(query, after: place) where oldest.map({ event.at >= $0 }) ?? true {
            Self.show([event], in: session)
            shown += 1
            if shown == page.limit { return }
        }
    }

    /// The position before the oldest event.
    private static let beginning = "0-0"

    /// Earlier events are left out.
    private var oldest: Instant? { since?.value.instant() }

    private static func show(_ events: ArraySlice<EventResource>, in session: CommandSession) {
        for event in events { session.show(line: event.line(.standard), json: event.json) }
    }
}

/// Reads events page by page until the last page. Pure.
struct EventPages {
    private(set) var cursor: String?
    /// Earlier events are left out.
    let oldest: Instant?
    /// How many more events the user wants; nil: all.
    private(set) var remaining: Int?
    /// Whether there is nothing more to read: the list has ended, or the user has all that they wanted.
    private(set) var isAtEnd = false
    /// Whether the list may go on after ``cursor``, although the user has all that they wanted.
    private(set) var isCut = false

    /// The next page to request.
    var next: PageRequest { PageRequest(limit: 1_000, cursor: cursor) }

    /// The events of a page that the user asked for.
    mutating func take(_ page: Page<EventResource>) -> [EventResource] {
        isAtEnd = page.nextCursor == nil
        cursor = page.nextCursor ?? page.items.last?.id ?? cursor
        let events = page.items.filter { event in oldest.map { event.at >= $0 } ?? true }
        guard let remaining else { return events }
        let wanted = Array(events.prefix(remaining))
        self.remaining = remaining - wanted.count
        guard wanted.count == remaining else { return wanted }
        isCut = wanted.count < events.count || !isAtEnd
        isAtEnd = true
        cursor = wanted.last?.id ?? cursor
        return wanted
    }
}

extension EventResource {
    /// One line of any length, with the detail at its end.
    func line(_ style: Style) -> String {
        let subject = [bundleID?.rawValue, activityID?.rawValue, deviceID?.rawValue].compactMap(\.self)
            .joined(separator: " ")
        let facts = detail.entries.map { "\($0.key)=\($0.value.string ?? $0.value.text)" }.joined(separator: " ")
        let words = [style.text(at.description, .faint), style.text(kind, .strong), subject, facts]
        return words.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
