import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Broadcast channels.",
        subcommands: [Create.self, List.self, Show.self, Delete.self]
    )

    struct Create: ClientCommand {
        static let configuration = CommandConfiguration(abstract: "Make a channel for the pool.")

        @Option(help: "sandbox or production; by default production if the app has it.")
        var environment: APNSEnvironment?
        @Option(help: "none or most_recent: what phones that were offline get.") var storage = ChannelStorage.mostRecent
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func run(_ session: Session) async throws {
            let request = ChannelRequest(environment: environment, storage: storage)
            session.show(try await session.client.createChannel(session.app(), request))
        }
    }

    struct List: ClientCommand {
        static let configuration = CommandConfiguration(abstract: "The channels of an app.")

        @OptionGroup var app: AppOption
        @OptionGroup var page: PageOptions
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func run(_ session: Session) async throws {
            session.show(try await session.client.channels(session.app(), page.request))
        }
    }

    struct Show: ClientCommand {
        static let configuration = CommandConfiguration(abstract: "One channel.")

        @Argument(help: "Tally's id of the channel, a UUID.") var id: Checked<ChannelID>
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func run(_ session: Session) async throws {
            session.show(try await session.client.channel(session.app(), id.value))
        }
    }

    struct Delete: ClientCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a channel at Apple.")

        @Argument(help: "Tally's id of the channel, a UUID.") var id: Checked<ChannelID>
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func run(_ session: Session) async throws {
            try await session.client.deleteChannel(session.app(), id.value)
            session.show(done: "The channel is deleted.")
        }
    }
}

extension ChannelStorage: ExpressibleByArgument {}
