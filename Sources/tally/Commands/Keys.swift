import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "API keys.",
        subcommands: [Create.self, List.self, Revoke.self]
    )

    struct Create: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key; its secret is shown once.",
            discussion: """
                Scopes: admin (all), operate (types, channels, schedules), publish (activities), register (devices, \
                subscriptions), read. operate and publish include read.
                """,
            examples: "tally keys create backend --scope publish"
        )

        @Argument(help: "A name for people.") var name: String
        @Option(help: "What it may do; repeat for several.") var scope: [Scope]
        @Option(help: "The only app that it may be used for.") var app: Checked<BundleID>?
        @Option(help: "When it ends, such as 2026-03-01T17:00:00Z.") var expires: Checked<Instant>?
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            if scope.isEmpty { throw ValidationError("Give at least one --scope.") }
        }

        func run(_ session: CommandSession) async throws {
            let request = APIKeyRequest(
                name: name,
                scopes: scope,
                bundleID: app?.value,
                expiresAt: expires?.value
            )
            session.show(try await session.client.createKey(request))
        }
    }

    struct List: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "All keys, without their secrets.",
            examples: "tally keys list"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.keys(page.request))
        }
    }

    struct Revoke: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a key for good.",
            examples: "tally keys revoke 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "The key's id, not its secret.") var id: String
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            try await session.client.revokeKey(id)
            session.show(done: "The key is revoked.")
        }
    }
}

extension Scope: ExpressibleByArgument {}
