import APITypes
import ActivityModel
import ArgumentParser
import JSON
import TallyClient

struct Status: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show on one screen whether all is well: server, apps, activities, halts.",
        discussion: "Counts the newest \(StatusReport.limit) activities of each app. 'tally doctor' looks deeper.",
        examples: "tally status"
    )

    @OptionGroup var app: AppOption

    func run(_ session: CommandSession) async throws {
        let client = session.client
        let apps = try await app.app == nil ? client.apps().items.map(\.bundleID) : [session.app()]
        var report = StatusReport(url: session.url, warnings: try await client.warnings())
        for app in apps {
            let page = PageRequest(limit: StatusReport.limit)
            let live = try await client.activities(app, state: .live, page)
            let halts = try await client.halts(of: app)
            let failed = try await client.schedules(app, state: .failed, page)
            report.add(app, live: live, halts: halts.items, failed: failed)
        }
        session.show(report)
    }
}

/// The state of a server at a glance.
struct StatusReport: Presentable {
    /// The most activities and schedules of an app that are counted.
    static let limit = 100

    private struct Line {
        let app: BundleID
        let live: Count
        let destinations: Int
        let pending: Int
        let failed: Count
        let halted: [String]

        /// A sum over the activities that are counted.
        func sum(_ number: Int) -> String { "\(number)\(live.isCut ? "+" : "")" }
    }

    /// The items of a first page.
    private struct Count {
        let number: Int
        let isCut: Bool

        init<Item>(_ page: Page<Item>) {
            number = page.items.count
            isCut = page.nextCursor != nil
        }

        var text: String { "\(number)\(isCut ? "+" : "")" }
    }

    let url: String
    let warnings: [String]
    private var lines: [Line] = []

    init(url: String, warnings: [String]) {
        self.url = url
        self.warnings = warnings
    }

    mutating func add(
        _ app: BundleID,
        live: Page<ActivityResource>,
        halts: [HaltResource],
        failed: Page<ScheduleResource>
    ) {
        lines.append(
            Line(
                app: app,
                live: Count(live),
                destinations: live.items.map(\.progress.destinations).reduce(0, +),
                pending: live.items.map { $0.progress.pending + $0.starts.pending }.reduce(0, +),
                failed: Count(failed),
                halted: halts.map(\.environment.rawValue)
            )
        )
    }

    private static let columns: [Table.Column] = [
        .init(title: "APP"), .init(title: "LIVE", isNumber: true), .init(title: "DESTINATIONS", isNumber: true),
        .init(title: "PENDING", isNumber: true), .init(title: "FAILED SCHEDULES", isNumber: true, isExtra: true),
        .init(title: "HALTED"),
    ]

    var text: String {
        let rows = lines.map { line in
            [
                line.app.rawValue, line.live.text, line.sum(line.destinations), line.sum(line.pending),
                line.failed.text,
                line.halted.joined(separator: ","),
            ]
        }
        let head = ["\(url) is ready."] + warnings.map { "! " + $0 }
        return head.joined(separator: "\n") + "\n\n"
            + Table(columns: Self.columns, rows: rows).text(width: Terminal.outputWidth) + cutText
    }

    /// What a `+` means, if there is one.
    private var cutText: String {
        let apps = lines.filter { $0.live.isCut || $0.failed.isCut }.map(\.app.rawValue)
        guard !apps.isEmpty else { return "" }
        return "\n\n+ means at least: only the newest \(Self.limit) are counted of \(apps.joined(separator: ", "))."
    }

    var json: JSONValue {
        let apps = lines.map { line in
            var fields = ObjectWriter()
            fields.add("bundle_id", line.app.rawValue)
            fields.add("live", line.live.number)
            fields.add("destinations", line.destinations)
            fields.add("pending", line.pending)
            fields.add("failed_schedules", line.failed.number)
            fields.add("halted", words: line.halted)
            fields.add("truncated", line.live.isCut || line.failed.isCut)
            return fields.json
        }
        return ["url": .string(url), "warnings": .array(warnings.map { .string($0) }), "apps": .array(apps)]
    }
}
