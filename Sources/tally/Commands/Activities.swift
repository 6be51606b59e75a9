import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Activities: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Live Activities: matches, orders.",
        subcommands: [
            Start.self, Update.self, End.self, ChangeAudience.self, Subscribe.self, Unsubscribe.self,
            Subscriptions.self, Show.self, List.self, Explain.self, Watch.self, TestCard.self,
        ]
    )

    struct Start: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Start an activity, on phones too if an audience is given.",
            discussion: "The same start again changes nothing.",
            examples:
                "tally activities start match-1 --type Game --attributes @match.json --content-state '{\"score\": 0}'"
        )

        @Argument(help: "Your own id of it.") var id: Checked<ActivityID>
        @Option(help: "The registered type.") var type: Checked<ActivityTypeName>
        @Option(help: "JSON, or @FILE.") var attributes: JSONArgument
        @Option(help: "JSON, or @FILE.") var contentState: JSONArgument
        @Option(help: "sandbox or production; by default production if the app has it.")
        var environment: APNSEnvironment?
        @Option(help: "tokens, channel or hybrid.") var delivery = Delivery.tokens
        @Option(help: "A user to start it for; repeat for several.") var user: [Checked<UserID>] = []
        @Option(help: "A device to start it on; repeat for several.") var device: [Checked<DeviceID>] = []
        @Flag(help: "Start it on every device with a start token for the type.") var allOfType = false
        @Option(help: "A topic to start it for: all its followers; repeat for several.") var topic: [Checked<Topic>] =
            []
        @Option(help: "Followers of --topic must follow this one, too; repeat for several.")
        var andTopic: [Checked<Topic>] = []
        @Option(help: "Leave out followers of this topic; repeat for several.") var exceptTopic: [Checked<Topic>] = []
        @OptionGroup var alert: AlertOptions
        @Option(help: "routine, notable or critical.") var urgency: Urgency?
        @Option(help: "Start later, such as 2026-03-01T17:00:00Z.") var startsAt: Checked<Instant>?
        @Option(help: "End it then without a request, such as 2026-03-01T17:00:00Z.")
        var endsAt: Checked<Instant>?
        @Option(help: "How long until the phone shows it as out of date, such as 10m.") var staleAfter: Checked<Span>?
        @Option(help: "Decides which of several activities a phone shows.") var relevanceScore: Double?
        @Flag(help: "Only say what would be sent, to whom and why so; write and send nothing.") var dryRun = false
        @OptionGroup var app: AppOption

        func request() throws -> StartRequest {
            let audience = Audience(
                users: user.map(\.value),
                devices: device.map(\.value),
                allOfType: allOfType,
                topics: topic.map(\.value),
                topicsAll: andTopic.map(\.value),
                exceptTopics: exceptTopic.map(\.value)
            )
            return StartRequest(
                type: type.value,
                attributes: try attributes.object(of: "--attributes"),
                contentState: try contentState.object(of: "--content-state"),
                environment: environment,
                audience: audience,
                delivery: delivery,
                alert: try alert.content(),
                urgency: urgency,
                startsAt: startsAt?.value,
                endsAt: endsAt?.value,
                staleAfterSeconds: staleAfter?.value.wholeSeconds,
                relevanceScore: relevanceScore
            )
        }

        func run(_ session: CommandSession) async throws {
            let client = session.client
            guard !dryRun else {
                return session.show(try await client.dryRunStart(session.app(), id.value, request()))
            }
            session.show(try await client.start(session.app(), id.value, request()).answer)
        }
    }

    struct Update: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Post a new state.",
            examples: "tally activities update match-1 --content-state '{\"score\": 1}'"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "JSON, or @FILE.") var contentState: JSONArgument
        @OptionGroup var alert: AlertOptions
        @Option(help: "routine, notable or critical.") var urgency: Urgency?
        @Flag(help: "Every phone gets a push of its own for this change.") var mustDeliver = false
        @Option(help: "How long until the phone shows it as out of date, such as 10m.") var staleAfter: Checked<Span>?
        @Option(help: "Decides which of several activities a phone shows.") var relevanceScore: Double?
        @Option(help: "When it happened, such as 2026-03-01T17:00:00Z. Tally refuses what is older than the newest.")
        var eventTime: Checked<Instant>?
        @Option(help: "Post it later, such as 2026-03-01T17:00:00Z.") var at: Checked<Instant>?
        @Flag(help: "Send it even if nothing changed.") var force = false
        @Flag(help: "Only say what would be sent, to whom and why so; write and send nothing.") var dryRun = false
        @OptionGroup var app: AppOption

        func request() throws -> UpdateRequest {
            UpdateRequest(
                contentState: try contentState.object(of: "--content-state"),
                alert: try alert.content(),
                urgency: urgency,
                mustDeliver: mustDeliver,
                staleAfterSeconds: staleAfter?.value.wholeSeconds,
                relevanceScore: relevanceScore,
                eventTime: eventTime?.value,
                at: at?.value,
                force: force
            )
        }

        func run(_ session: CommandSession) async throws {
            let client = session.client
            guard !dryRun else {
                return session.show(try await client.dryRunUpdate(session.app(), id.value, request()))
            }
            session.show(try await client.update(session.app(), id.value, request()))
        }
    }

    struct End: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "End an activity for good.",
            examples: "tally activities end match-1 --dismiss-after 15m"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "The last state; JSON, or @FILE. Without it the newest one stays.")
        var contentState: JSONArgument?
        @OptionGroup var alert: AlertOptions
        @Option(help: "How long the card stays, such as 15m; at most 4h.") var dismissAfter: Checked<Span>?
        @Option(help: "When the card goes, such as 2026-03-01T17:00:00Z.") var dismissAt: Checked<Instant>?
        @Option(help: "End it later, such as 2026-03-01T17:00:00Z.") var at: Checked<Instant>?
        @Flag(help: "Only say what would be sent, to whom and why so; write and send nothing.") var dryRun = false
        @OptionGroup var app: AppOption

        func validate() throws {
            if dismissAfter != nil, dismissAt != nil {
                throw ValidationError("Give --dismiss-after or --dismiss-at, not both.")
            }
        }

        func request() throws -> EndRequest {
            EndRequest(
                contentState: try contentState?.object(of: "--content-state"),
                dismissal: dismissAfter.map { .after(seconds: $0.value.wholeSeconds) }
                    ?? dismissAt.map { .at($0.value) },
                alert: try alert.content(),
                at: at?.value
            )
        }

        func run(_ session: CommandSession) async throws {
            let client = session.client
            guard !dryRun else {
                return session.show(try await client.dryRunEnd(session.app(), id.value, request()))
            }
            session.show(try await client.end(session.app(), id.value, request()))
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One activity and how far its newest state has come.",
            examples: "tally activities show match-1"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.activity(session.app(), id.value))
        }
    }

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The activities of an app.",
            examples: "tally activities list --state live"
        )

        @Option(help: "Only those of one type.") var type: Checked<ActivityTypeName>?
        @Option(help: "Only those in one state: scheduled, live or ended.") var state: ActivityState?
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let client = session.client
            let list = try await client.activities(session.app(), type: type?.value, state: state, page.request)
            session.show(list)
        }
    }
}

extension Delivery: ExpressibleByArgument {}
extension Urgency: ExpressibleByArgument {}
extension ActivityState: ExpressibleByArgument {}
