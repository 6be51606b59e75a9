import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

extension Activities {
    struct Watch: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follow an activity live: a line for every step that its newest state makes.",
            discussion: """
                Stops when the activity has ended and every phone has heard of it. With --until-current, stops when every \
                phone has the newest state. Keeps trying while the server is away.

                Exit codes: 0 that came, 1 no phone can get it, 2 it did not come within --timeout. With --json, each line is an activity as \
                `activities show --json` prints it.
                """,
            examples: "tally activities watch match-1 --until-current --timeout 1m"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "How long to wait between two looks without an event, such as 10s. Default: 5s.")
        var interval: Checked<Span>?
        @Option(help: "When to give up, such as 10m. Default: never.") var timeout: Checked<Span>?
        @Flag(help: "Stop as soon as every phone has the newest state.") var untilCurrent = false
        @OptionGroup var app: AppOption

        func validate() throws {
            guard (0.1...3_600).contains(interval?.value.seconds ?? 5) else {
                throw ValidationError("--interval must be from 0.1s to 1h.")
            }
            if let timeout, timeout.value.seconds == 0 { throw ValidationError("--timeout must be over 0.") }
        }

        func run(_ session: CommandSession) async throws {
            let watching = Watching(
                client: try session.patientClient(deadline: .seconds(60)),
                session: session,
                app: try session.app(),
                id: id.value,
                interval: .seconds(interval?.value.seconds ?? 5),
                untilCurrent: untilCurrent
            )
            let timeout = timeout.map { Duration.seconds($0.value.seconds) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watching.run() }
                if let timeout {
                    group.addTask {
                        try await ContinuousClock().sleep(for: timeout)
                        throw Self.notYet
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }

        private static let notYet = ExitCode(2)
    }
}

/// Reads an activity after each of its events, and at intervals, because not every change is an event.
private struct Watching: Sendable {
    let client: TallyClient
    let session: CommandSession
    let app: BundleID
    let id: ActivityID
    let interval: Duration
    let untilCurrent: Bool

    /// The shortest pause between two reads, however many events arrive.
    private static let pause = Duration.milliseconds(200)

    /// Runs until there is nothing more to wait for.
    func run() async throws {
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        bell.yield()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await _ in client.follow(EventQuery(app: app, activity: id)) { bell.yield() }
            }
            group.addTask {
                while true {
                    try await ContinuousClock().sleep(for: interval)
                    bell.yield()
                }
            }
            group.addTask { try await look(at: rings) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func look(at rings: AsyncStream<Void>) async throws {
        var watch = ActivityWatch(untilCurrent: untilCurrent)
        for await _ in rings {
            let activity = try await client.activity(app, id)
            if let news = watch.take(activity) {
                session.show(line: news.text(at: Date(), style: .standard), json: activity.json)
            }
            if watch.isOver {
                guard let failure = watch.failure else { return }
                Terminal.printError(failure)
                throw ExitCode.failure
            }
            try await ContinuousClock().sleep(for: Self.pause)
        }
    }
}

/// Finds what changed in an activity from one read to the next. Pure.
struct ActivityWatch {
    let untilCurrent: Bool
    private(set) var last: ActivityResource?

    /// What was read; nil if nothing has changed.
    mutating func take(_ activity: ActivityResource) -> ActivityResource? {
        defer { last = activity }
        return activity == last ? nil : activity
    }

    /// Whether there is nothing more to wait for.
    var isOver: Bool {
        guard let last else { return false }
        guard last.progress.pending == 0, last.starts.pending == 0, !last.starts.enrolling else { return false }
        // Phones without an update token still show their start. After the end they may never report one.
        return last.state == .ended || (untilCurrent && last.progress.waitingForToken == 0)
    }

    /// Why nobody will get what is waited for; nil if somebody has it, or nobody follows.
    var failure: String? {
        guard untilCurrent, let last, last.progress.current == 0, last.starts.withheld + last.starts.failed > 0 else {
            return nil
        }
        return "No phone has it: \(last.starts.failed) starts failed, \(last.starts.withheld) are withheld. "
            + "For the reasons: tally activities show \(last.activityID)"
    }
}

extension ActivityResource {
    /// One line with the state and revision. `activities show` prints the rest.
    func text(at date: Date, style: Style) -> String {
        let time = Instant(unixSeconds: Int64(date.timeIntervalSince1970)).description.dropFirst(11).dropLast()
        let isDone = progress.pending == 0
        let counts = [
            ("pending", progress.pending), ("waiting for token", progress.waitingForToken),
            ("waiting to begin", progress.waitingToBegin), ("dead", progress.dead), ("withheld", progress.withheld),
            ("starting", starts.pending), ("starts withheld", starts.withheld), ("starts failed", starts.failed),
        ]
        let others =
            counts.filter { $0.1 > 0 }.map { ", \($0.1) \($0.0)" }.joined()
            + (starts.enrolling ? ", adding phones" : "")
        return style.text(String(time), .faint) + "  \(state.rawValue)  revision \(revision)  "
            + style.text("\(progress.current) of \(progress.destinations) current", isDone ? .good : .doubtful) + others
    }
}
