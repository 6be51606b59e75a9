import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Topics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Topics that users and devices follow.",
        subcommands: [List.self]
    )

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The topics of an app, with the number of their followers.",
            examples: "tally topics list --limit 20"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.topics(session.app(), page.request))
        }
    }
}

/// What changes in a list of topics.
struct TopicOptions: ParsableArguments {
    @Option(help: "A topic to follow; repeat for several.") var add: [Checked<Topic>] = []
    @Option(help: "A topic to follow no longer; repeat for several.") var remove: [Checked<Topic>] = []
    @Option(help: "A topic of the whole list; repeat for several.") var set: [Checked<Topic>] = []
    @Flag(help: "Follow nothing any more.") var clear = false

    func validate() throws {
        let isChange = !add.isEmpty || !remove.isEmpty
        if [isChange, !set.isEmpty, clear].filter({ $0 }).count > 1 {
            throw ValidationError("Give --add and --remove, or --set, or --clear.")
        }
    }

    /// Changes the list of a follower if there is a change, and shows it.
    func run(_ session: CommandSession, of follower: UserOrDevice) async throws {
        let app = try session.app()
        guard let request else { return session.show(try await session.client.topics(app, of: follower)) }
        session.show(try await session.client.putTopics(app, of: follower, request))
    }

    /// Nil: the list is only shown.
    private var request: TopicsRequest? {
        if clear { return .whole([]) }
        if !set.isEmpty { return .whole(set.map(\.value)) }
        if add.isEmpty, remove.isEmpty { return nil }
        return .change(add: add.map(\.value), remove: remove.map(\.value))
    }
}

extension Users {
    struct FollowedTopicsCommand: AppCommand {
        static let configuration = CommandConfiguration(
            commandName: "topics",
            abstract: "Show or change the topics that a user follows.",
            discussion: "All devices of the user follow them, now and later.",
            examples: "tally users topics ada --add team:ajax --remove team:psv"
        )

        @Argument(help: "The user's id.") var id: Checked<UserID>
        @OptionGroup var topics: TopicOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await topics.run(session, of: .user(id.value))
        }
    }
}

extension Devices {
    struct FollowedTopicsCommand: AppCommand {
        static let configuration = CommandConfiguration(
            commandName: "topics",
            abstract: "Show or change the topics that a device follows by itself.",
            examples: "tally devices topics phone-1 --set team:ajax"
        )

        @Argument(help: "The device's id.") var id: Checked<DeviceID>
        @OptionGroup var topics: TopicOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await topics.run(session, of: .device(id.value))
        }
    }
}

extension FollowedTopics: Presentable {
    var text: String { topics.isEmpty ? "No topics." : topics.map(\.rawValue).joined(separator: "\n") }
}

extension TopicResource: Listable {
    static let columns: [Table.Column] = [
        .init(title: "TOPIC"), .init(title: "USERS", isNumber: true), .init(title: "DEVICES", isNumber: true),
    ]

    var row: [String] { [topic.rawValue, String(users), String(devices)] }
}
