import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

/// `tally apps ticket-key`.
struct TicketKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ticket-key",
        abstract: "Keys with which a backend signs tickets itself.",
        subcommands: [Create.self, List.self, Revoke.self]
    )

    struct Create: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key; its secret is shown once.",
            discussion: """
                The tickets are JWTs (docs/reference/tickets.md). To replace a key, make a new one, sign with it, and revoke \
                the old one.
                """,
            examples: "tally apps ticket-key create com.example.app"
        )

        @Argument(help: "The bundle id.") var app: Checked<BundleID>
        @Option(help: "ES256: a private key signs, which Tally does not keep. HS256: both have a secret.")
        var algorithm = TicketAlgorithm.es256
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let request = TicketKeyRequest(algorithm: algorithm)
            session.show(try await session.client.createTicketKey(app.value, request))
        }
    }

    struct List: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "The keys of an app, without their secrets.",
            examples: "tally apps ticket-key list com.example.app"
        )

        @Argument(help: "The bundle id.") var app: Checked<BundleID>
        @OptionGroup var page: PageOptions
        @OptionGroup var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.ticketKeys(app.value, page.request))
        }
    }

    struct Revoke: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse the tickets of a key, now or in some time.",
            discussion: "With --after, tickets that the key signed can live to their end. An earlier time wins.",
            examples: "tally apps ticket-key revoke com.example.app 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11 --after 30d"
        )

        @Argument(help: "The bundle id.") var app: Checked<BundleID>
        @Argument(help: "The key's id, a UUID.") var id: Checked<ResourceUUID>
        @Option(help: "In what time, such as 30d; at most 90d. Default: at once.") var after: Checked<Span>?
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            guard (0...TicketKeyRequest.maximumTicketSeconds).contains(seconds) else {
                throw ValidationError("--after must be at most 90d.")
            }
        }

        var seconds: Int64 { after?.value.wholeSeconds ?? 0 }

        func run(_ session: CommandSession) async throws {
            try await session.client.revokeTicketKey(app.value, id.value.text, afterSeconds: seconds)
            session.show(done: seconds == 0 ? "The key is revoked." : "The key is revoked in \(seconds) s.")
        }
    }
}

extension TicketAlgorithm: ExpressibleByArgument {}

extension TicketKeyResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "ID"), .init(title: "ALGORITHM"), .init(title: "CREATED", isExtra: true), .init(title: "REVOKED"),
    ]

    var row: [String] { [id, algorithm.rawValue, createdAt.inTable, revokedAt?.inTable ?? ""] }

    var text: String {
        let card = FactList([
            ("id", id), ("algorithm", algorithm.rawValue), ("created", createdAt.description),
            ("revoked", revokedAt?.description),
        ]).text
        // The PEM of a private key has several lines.
        guard let secret else { return card }
        return card + "\n\nThe secret, shown this once:\n\n" + secret
    }
}
