import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import MatchReplay

struct Replay: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play a recorded match through the server.",
        discussion: """
            The file names a type, attributes, activities and posts with their times; every post goes to all \
            activities. While the server is away, the replay retries with the same idempotency keys.

            WHOM in --audience is all, none, @FILE (JSON as the API takes it), or a range of names such as \
            devices:phone-:1-500 or users:fan-:0001-0500.
            """,
        examples: "tally replay final.json --speed 60"
    )

    @Argument(help: "The recording.") var path: String
    @Option(help: "Recorded seconds per second.") var speed = 1.0
    @Option(help: ArgumentHelp("Whom to start one of the activities on; repeat.", valueName: "activity=whom"))
    var audience: [AudienceArgument] = []
    @Option(help: "sandbox or production, in place of the file's.") var environment: APNSEnvironment?
    @Option(parsing: .unconditional, help: "Appended to the activities' ids: an ended activity's id is used up.")
    var suffix = ""
    @Option(help: ArgumentHelp("Write a line of JSON for each accepted post.", valueName: "file")) var log: String?
    @OptionGroup var deadline: DeadlineOption
    @OptionGroup var app: AppOption

    func validate() throws {
        guard speed > 0, speed.isFinite else { throw ValidationError("--speed must be a number over 0.") }
    }

    /// The recording, with the changes from the command line.
    func file() throws -> ReplayFile {
        var file = try ReplayFile(json: Files.readJSON(path))
        if let environment { file.environment = environment }
        for argument in audience {
            guard let index = file.activities.firstIndex(where: { $0.activityID == argument.activityID }) else {
                throw UsageError("\(path) has no activity '\(argument.activityID)'.")
            }
            file.activities[index].audience = try argument.audience()
        }
        for index in file.activities.indices {
            let text = file.activities[index].activityID.rawValue + suffix
            guard let id = ActivityID(text) else { throw UsageError("'\(text)' cannot be the id of an activity.") }
            file.activities[index].activityID = id
        }
        return file
    }

    func run(_ session: CommandSession) async throws {
        let file = try file()
        let poster = ReplayPoster(
            client: try session.patientClient(deadline: deadline.patience),
            app: try app.app == nil ? file.app ?? session.app() : session.app(),
            file: file
        )
        let player = ReplayPlayer(
            file: file,
            speed: speed,
            post: { try await poster.post($0, $1) },
            now: { Int64(Date().timeIntervalSince1970 * 1_000) }
        )
        let log = try log.map { try ReplayLog(path: $0) }
        var progress = ReplayProgress(
            total: file.posts.count,
            isTerminal: Terminal.errorIsTerminal,
            write: Terminal.writeError
        )
        if let title = file.title { Terminal.printError(title) }
        var summary = ReplaySummary(file.activities.map(\.activityID))
        do {
            try await player.play(clock: ContinuousClock()) { entry in
                summary.add(entry)
                try log?.append(entry)
            } advanced: { done in
                progress.advance(to: done, label: file.posts[done - 1].label)
            }
        } catch {
            progress.interrupt()
            throw error
        }
        try log?.close()
        session.show(summary)
    }
}
