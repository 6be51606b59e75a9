import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Broadcast channels.",
        subcommands: [Create.self, List.self, Show.self, Delete.self, Reconcile.self]
    )

    struct Create: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a channel for the pool.",
            examples: "tally channels create --environment sandbox"
        )

        @Option(help: "sandbox or production; by default production if the app has it.")
        var environment: APNSEnvironment?
        @Option(help: "none or most_recent: what phones that were offline get.") var storage = ChannelStorage.mostRecent
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let request = ChannelRequest(environment: environment, storage: storage)
            session.show(try await session.client.createChannel(session.app(), request))
        }
    }

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The channels of an app.",
            examples: "tally channels list -o wide"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.channels(session.app(), page.request))
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One channel.",
            examples: "tally channels show 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "Tally's id of the channel, a UUID.") var id: Checked<ChannelID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.channel(session.app(), id.value))
        }
    }

    struct Delete: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a channel at Apple.",
            examples: "tally channels delete 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "Tally's id of the channel, a UUID.") var id: Checked<ChannelID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await session.client.deleteChannel(session.app(), id.value)
            session.show(done: "The channel is deleted.")
        }
    }
}

extension Channels {
    struct Reconcile: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare the channels with Apple's list, and mend what differs.",
            discussion: """
                Channels that Apple has and Tally does not know are deleted only if the app is declared channels_exclusive \
                and they have been seen for 24 hours.
                """,
            examples: "tally channels reconcile --dry-run"
        )

        @Flag(name: .long, help: "Only look: change nothing, neither here nor at Apple.") var dryRun = false
        @Option(help: "sandbox or production; by default production if the app has it.")
        var environment: APNSEnvironment?
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let request = ReconcileRequest(environment: environment, dryRun: dryRun)
            let app = try session.app()
            let report = try await session.waiting(for: "Comparing with Apple") {
                try await session.client.reconcileChannels(app, request)
            }
            session.show(report)
        }
    }
}

extension ChannelStorage: ExpressibleByArgument {}
