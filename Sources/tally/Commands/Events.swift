import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

struct Events: ClientCommand {
    static let configuration = CommandConfiguration(
        abstract: "What happened: changes, answers of APNs, tokens that died, demotions, halts.",
        discussion: """
            From the oldest that is kept, or from --cursor or --since on. With --follow, what comes is shown as it comes, from \
            now on if nothing else is said; it goes on over restarts of the server, and misses nothing. docs/events.md lists \
            the kinds and their details. With --json, each line is an event as the API tells it.
            """
    )

    @Option(help: "Only events of this activity.") var activity: Checked<ActivityID>?
    @Option(help: "Only events of this device.") var device: Checked<DeviceID>?
    @Option(help: "Only events of this kind; repeat for several.") var kind: [String] = []
    @Option(help: "Only events of the last so many seconds.") var since: Double?
    @Flag(help: "Wait for more.") var follow = false
    @OptionGroup var app: AppOption
    @OptionGroup var page: PageOptions
    @OptionGroup var global: GlobalOptions

    var appName: String? { app.app }

    func validate() throws {
        if let since, !(since >= 0 && since <= 1e9) { throw ValidationError("--since must not be negative.") }
    }

    /// How often a follower asks for more.
    private static let interval = Duration.milliseconds(500)

    func run(_ session: Session) async throws {
        let query = EventQuery(
            app: app.app == nil ? nil : try session.app(),
            activity: activity?.value,
            device: device?.value,
            kinds: kind
        )
        guard follow || since != nil else {
            let found = try await session.client.events(query, page.request)
            Self.show(found.items[...], in: session)
            if let cursor = found.nextCursor { Console.printError("More follow: --cursor \(cursor)") }
            return
        }
        let client = try session.patientClient(deadline: .seconds(300))
        var reader = EventReader(cursor: page.cursor, oldest: beginning())
        while true {
            let found = try await client.events(query, reader.nextPage)
            Self.show(reader.take(found)[...], in: session)
            guard reader.isAtEnd else { continue }
            guard follow else { return }
            try await ContinuousClock().sleep(for: Self.interval)
        }
    }

    /// The time before which events are not wanted.
    private func beginning() -> Instant? {
        guard since != nil || page.cursor == nil else { return nil }
        let time = Date().timeIntervalSince1970 - (since ?? 0)
        return Instant(microseconds: Int64(time * 1_000_000))
    }

    private static func show(_ events: ArraySlice<EventResource>, in session: Session) {
        for event in events { session.show(line: event.line(.standard), json: event.json) }
    }
}

/// Reads events page by page, and goes on after the last. Pure.
struct EventReader {
    private var cursor: String?
    private let oldest: Instant?
    /// Whether nothing more was there at the last look.
    private(set) var isAtEnd = false

    /// Begins at a cursor; events before `oldest` are left out.
    init(cursor: String?, oldest: Instant?) {
        self.cursor = cursor
        self.oldest = oldest
    }

    /// What to ask for.
    var nextPage: PageRequest { PageRequest(limit: 1_000, cursor: cursor) }

    /// What of a page is wanted.
    mutating func take(_ page: Page<EventResource>) -> [EventResource] {
        isAtEnd = page.nextCursor == nil
        cursor = page.nextCursor ?? page.items.last?.id ?? cursor
        guard let oldest else { return page.items }
        return page.items.filter { $0.at >= oldest }
    }
}

extension EventResource {
    /// One line, however long: its end is the detail.
    func line(_ style: Style) -> String {
        let subject = [bundleID?.rawValue, activityID?.rawValue, deviceID?.rawValue].compactMap(\.self)
            .joined(separator: " ")
        let facts = detail.entries.map { "\($0.key)=\($0.value.string ?? $0.value.text)" }.joined(separator: " ")
        let words = [style.text(at.description, .faint), style.text(kind, .strong), subject, facts]
        return words.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
