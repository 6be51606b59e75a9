import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

extension Activities {
    struct Watch: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follow an activity live: a line for every step that its newest state makes.",
            discussion: """
                Ends by itself when the activity has ended and every phone has heard of it; with --until-current, when every \
                phone has the newest state. While the server is away it goes on trying.

                Exit codes: 0 that came, 2 it did not come within --timeout. With --json, each line is an activity as \
                `activities show --json` prints it.
                """
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "Seconds between two looks.") var interval = 1.0
        @Option(help: "Seconds after which to stop; without it, as long as it takes.") var timeout: Double?
        @Flag(help: "Stop as soon as every phone has the newest state.") var untilCurrent = false
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func validate() throws {
            guard interval >= 0.1, interval <= 3_600 else {
                throw ValidationError("--interval must be from 0.1 to 3600 seconds.")
            }
            if let timeout, !(timeout > 0 && timeout <= 1e9) { throw ValidationError("--timeout must be over 0.") }
        }

        func run(_ session: Session) async throws {
            let client = try session.patientClient(deadline: .seconds(60))
            let app = try session.app()
            let clock = ContinuousClock()
            let end = timeout.map { clock.now + .seconds($0) }
            var watch = ActivityWatch(untilCurrent: untilCurrent)
            while true {
                let activity = try await client.activity(app, id.value)
                if let news = watch.take(activity) {
                    session.show(line: news.text(at: Date(), style: .standard), json: activity.json)
                }
                if watch.isOver { return }
                if let end, clock.now + .seconds(interval) > end { throw Self.notYet }
                try await clock.sleep(for: .seconds(interval))
            }
        }

        private static let notYet = ExitCode(2)
    }
}

/// Tells what is new of an activity from one look to the next. Pure.
struct ActivityWatch {
    /// One look that differs from the one before.
    struct News: Equatable {
        let activity: ActivityResource
    }

    let untilCurrent: Bool
    private var last: ActivityResource?

    init(untilCurrent: Bool) {
        self.untilCurrent = untilCurrent
    }

    /// What the look has brought; nil if nothing has changed.
    mutating func take(_ activity: ActivityResource) -> News? {
        defer { last = activity }
        return activity == last ? nil : News(activity: activity)
    }

    /// Whether there is nothing more to wait for.
    var isOver: Bool {
        guard let last else { return false }
        return last.progress.pending == 0 && last.starts.pending == 0 && (untilCurrent || last.state == .ended)
    }
}

extension ActivityWatch.News {
    /// One line; where the state or the revision is of interest, `activities show` has the rest.
    func text(at date: Date, style: Style) -> String {
        let progress = activity.progress
        let time = Instant(unixSeconds: Int64(date.timeIntervalSince1970)).description.dropFirst(11).dropLast()
        let isDone = progress.pending == 0
        let counts = [
            ("pending", progress.pending), ("waiting for token", progress.waitingForToken), ("dead", progress.dead),
            ("withheld", progress.withheld), ("starting", activity.starts.pending),
        ]
        let others = counts.filter { $0.1 > 0 }.map { ", \($0.1) \($0.0)" }.joined()
        return style.text(String(time), .faint) + "  \(activity.state.rawValue)  revision \(activity.revision)  "
            + style.text("\(progress.current) of \(progress.destinations) current", isDone ? .good : .doubtful) + others
    }
}
