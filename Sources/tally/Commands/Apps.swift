import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Apps: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bundle ids with their team and signing keys.",
        subcommands: [Put.self, List.self, Show.self, Delete.self, Resume.self, TicketKeys.self]
    )

    struct Put: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an app or change it.",
            discussion: """
                An option that you leave out keeps its stored value. A new key id needs its file. An environment that you \
                leave out keeps its key.
                """,
            examples: "tally apps put com.example.app --team-id ABCDE12345 --production-key-id KEY1234567"
        )

        @Argument(help: "The bundle id.") var id: Checked<BundleID>
        @Option(help: "The Apple developer team.") var teamID: Checked<TeamID>
        @Option(help: "The signing key for production.") var productionKeyID: Checked<KeyID>?
        @Option(help: "Its .p8 file.") var productionKeyFile: String?
        @Option(help: "The signing key for the sandbox.") var sandboxKeyID: Checked<KeyID>?
        @Option(help: "Its .p8 file.") var sandboxKeyFile: String?
        @Option(help: "Channels kept ready per environment.") var channelPool: Int?
        @Flag(inversion: .prefixedNo, help: "Whether no other system makes channels for this app.")
        var channelsExclusive: Bool?
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            if productionKeyID == nil, sandboxKeyID == nil {
                throw ValidationError("Give --production-key-id, --sandbox-key-id or both.")
            }
            if productionKeyFile != nil, productionKeyID == nil {
                throw ValidationError("--production-key-file needs --production-key-id.")
            }
            if sandboxKeyFile != nil, sandboxKeyID == nil {
                throw ValidationError("--sandbox-key-file needs --sandbox-key-id.")
            }
        }

        func request() throws -> AppRequest {
            var environments: [APNSEnvironment: SigningKeyRequest] = [:]
            if let key = productionKeyID {
                environments[.production] = try Self.signingKey(key.value, file: productionKeyFile)
            }
            if let key = sandboxKeyID {
                environments[.sandbox] = try Self.signingKey(key.value, file: sandboxKeyFile)
            }
            return AppRequest(
                teamID: teamID.value,
                channelsExclusive: channelsExclusive,
                channelPool: channelPool,
                environments: environments
            )
        }

        private static func signingKey(_ id: KeyID, file: String?) throws -> SigningKeyRequest {
            SigningKeyRequest(keyID: id, privateKey: try file.map { try Files.readText($0) })
        }

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.putApp(id.value, request()))
        }
    }

    struct List: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "All apps that the key sees.",
            examples: "tally apps list"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.apps(page.request))
        }
    }

    struct Show: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "One app.",
            examples: "tally apps show com.example.app"
        )

        @Argument(help: "The bundle id.") var id: Checked<BundleID>
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.app(id.value))
        }
    }

    struct Delete: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an app with all that belongs to it.",
            discussion:
                "Takes minutes for a million devices. If it breaks off, run the same command again.",
            examples: "tally apps delete com.example.app"
        )

        @Argument(help: "The bundle id.") var id: Checked<BundleID>
        @Option(help: "How long to keep trying, such as 10m. Default: 1h.") var deadline: Checked<Span>?
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            guard patience > .zero else { throw ValidationError("--deadline must be over 0.") }
        }

        private var patience: Duration { .seconds(deadline?.value.seconds ?? 3_600) }

        func run(_ session: CommandSession) async throws {
            let what = "the app \(id.value) at \(session.url) with all that belongs to it"
            try Confirmation().require(id.value.rawValue, of: what, given: confirmation)
            try await session.waiting(for: "Deleting \(id.value)") {
                try await session.client.deleteApp(id.value, deadline: patience)
            }
            session.show(done: "\(id.value) is deleted.")
        }
    }

    struct Resume: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume halted sending.",
            discussion: "Sending halts when APNs rejects too many tokens. Mend key, host or topic first.",
            examples: "tally apps resume com.example.app --environment production"
        )

        @Argument(help: "The bundle id.") var id: Checked<BundleID>
        @Option(help: "sandbox or production.") var environment: APNSEnvironment
        @Flag(help: "Do not try the rejected tokens again.") var leaveRejected = false
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            try await session.client.liftHalt(id.value, environment, leavingRejected: leaveRejected)
            session.show(done: "Sending for \(id.value) in \(environment.rawValue) is resumed.")
        }
    }
}
