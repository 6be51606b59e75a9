import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import TallyClient

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Addresses that Tally tells of events.",
        subcommands: [Put.self, List.self, Show.self, Delete.self, ReplayEvents.self]
    )

    struct Put: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a webhook or change it; this also ends a pause.",
            discussion: """
                A new one gets a secret, shown this once, unless you give one. Without --secret-file the present one stays. \
                See docs/reference/webhooks.md.
                """,
            examples: "tally webhooks put audit https://hooks.example.com/tally --event token_died"
        )

        @Argument(help: "The webhook's id, chosen by you.") var id: Checked<WebhookID>
        @Argument(help: "The https URL to post to.") var url: String
        @Option(help: "Only events of this kind; repeat for several. Default: all.") var event: [String] = []
        @Option(help: "A file with a secret, whsec_…, that you share with others.") var secretFile: String?
        @Option(help: "The most events in one request, 1 to 1000.") var maxEvents = WebhookRequest.usualBatchSize
        @Flag(help: "Deliver nothing until you put it again without this.") var paused = false
        @OptionGroup var app: AppOption

        func validate() throws {
            guard WebhookRequest.batchSizes.contains(maxEvents) else {
                throw ValidationError("--max-events must be from 1 to 1000.")
            }
        }

        func request() throws -> WebhookRequest {
            WebhookRequest(
                url: url,
                events: event.isEmpty ? nil : event,
                secret: try secretFile.map {
                    try Files.readText($0).trimmingCharacters(in: .whitespacesAndNewlines)
                },
                isPaused: paused,
                maxEvents: maxEvents
            )
        }

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.putWebhook(session.app(), id.value, request()))
        }
    }

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The webhooks of an app.",
            examples: "tally webhooks list"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.webhooks(session.app(), page.request))
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One webhook, and why it fails if it does.",
            examples: "tally webhooks show audit"
        )

        @Argument(help: "The webhook's id.") var id: Checked<WebhookID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.webhook(session.app(), id.value))
        }
    }

    struct Delete: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a webhook.",
            examples: "tally webhooks delete audit"
        )

        @Argument(help: "The webhook's id.") var id: Checked<WebhookID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await session.client.deleteWebhook(session.app(), id.value)
            session.show(done: "The webhook is deleted.")
        }
    }
}

extension WebhooksCommand {
    struct ReplayEvents: AppCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay",
            abstract: "Deliver events again, from a time on.",
            examples: "tally webhooks replay audit --since 2h"
        )

        @Argument(help: "The webhook's id.") var id: Checked<WebhookID>
        @Option(help: "From then on: RFC 3339, or how long ago, such as 2h.") var since: Checked<PointInTime>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let time = since.value.instant()
            session.show(try await session.client.replayWebhook(session.app(), id.value, since: time))
        }
    }
}

extension WebhookResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "WEBHOOK"), .init(title: "URL"), .init(title: "STATE"),
        .init(title: "DELIVERED", isExtra: true), .init(title: "ERROR", isExtra: true),
    ]

    var row: [String] {
        [id.rawValue, url, state, deliveredAt?.inTable ?? "", lastError ?? ""]
    }

    private var state: String {
        if let pausedBecause { return "paused (\(pausedBecause.rawValue))" }
        return failingSince == nil ? "active" : "failing"
    }

    var text: String {
        let card = FactList([
            ("webhook", id.rawValue), ("url", url), ("events", events?.joined(separator: ", ") ?? "all"),
            ("max events", String(maxEvents)), ("state", state), ("delivered", deliveredAt?.description),
            ("failing since", failingSince?.description), ("last error", lastError),
            ("next try", nextTryAt?.description),
        ]).text
        guard let secret else { return card }
        return card + "\n\nThe secret, shown this once:\n\n" + secret
    }
}
