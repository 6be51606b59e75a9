import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Payload: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what would be sent to Apple for an activity as it is now, for Apple's own tools.",
        discussion: """
            Nothing is sent. Where a token or key belongs, the curl form has $AUTHENTICATION_TOKEN (a provider token) and \
            $ACTIVITY_PUSH_TOKEN; fill them in yourself. For a start, use `activities start … --dry-run --json`.
            """,
        examples: "tally payload match-1 --format simctl"
    )

    /// The kind of push to print.
    enum Event: String, ExpressibleByArgument, CaseIterable {
        case update, end
    }

    enum Destination: String, ExpressibleByArgument, CaseIterable {
        case tokens, channel
    }

    @Argument(help: "The activity; it must be running.") var id: Checked<ActivityID>
    @Option(help: "The form.") var format = PayloadFormat.json
    @Option(help: "Which push.") var event = Event.update
    @Option(help: "The push to tokens or that to the channel; by default what the activity has.") var to: Destination?
    @OptionGroup var app: AppOption

    func run(_ session: CommandSession) async throws {
        let app = try session.app()
        let activity = try await session.client.activity(app, id.value)
        let plan =
            switch event {
            case .update:
                // Forced, because the state is the newest one already.
                try await session.client.dryRunUpdate(
                    app,
                    id.value,
                    UpdateRequest(contentState: activity.contentState, force: true)
                )
            case .end: try await session.client.dryRunEnd(app, id.value, EndRequest())
            }
        let push = try Self.choose(from: plan.pushes, to)
        session.show(
            line: format.text(of: push, app: app, environment: activity.environment),
            json: push.json
        )
    }

    static func choose(from pushes: [PlannedPush], _ wanted: Destination?) throws -> PlannedPush {
        let fitting = pushes.filter { push in wanted.map { ($0 == .channel) == (push.to == .channel) } ?? true }
        // A hybrid activity has several pushes. Prints the one that goes to the most destinations.
        guard let push = fitting.max(by: { $0.destinations < $1.destinations }) else {
            throw UsageError("The activity is sent to no \(wanted.map(\.rawValue) ?? "destination").")
        }
        return push
    }
}
