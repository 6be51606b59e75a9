import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Devices {
    struct Ticket: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a ticket with which an app may report one device and its cards, and nothing else.",
            discussion: "Backends make them for their apps (docs/reference/tickets.md); this is for trying.",
            examples: "tally devices ticket phone-1 --environment sandbox --ttl 10m"
        )

        @Argument(help: "The device.") var id: Checked<DeviceID>
        @Option(help: "sandbox or production.") var environment: APNSEnvironment
        @Option(help: "Whose device it is.") var user: Checked<UserID>?
        @Option(
            help:
                "An activity whose card may be reported; repeat. Default: every activity whose audience has the device."
        )
        var activity: [Checked<ActivityID>] = []
        @Option(help: "A topic that the device may follow, or a prefix and '*'; repeat. Default: none.")
        var topic: [Checked<TopicPattern>] = []
        @Option(help: "How long it is good, such as 10m; at most 1d. Default: 1h.") var ttl: Checked<Span>?
        @OptionGroup var app: AppOption

        func validate() throws {
            guard (1...RegistrationTicketRequest.maximumSeconds).contains(seconds) else {
                throw ValidationError("--ttl must be from 1s to 1d.")
            }
        }

        private var seconds: Int64 { ttl?.value.wholeSeconds ?? 3_600 }

        var request: RegistrationTicketRequest {
            RegistrationTicketRequest(
                environment: environment,
                deviceID: id.value,
                userID: user?.value,
                activities: activity.isEmpty ? nil : activity.map(\.value),
                topics: topic.isEmpty ? nil : topic.map(\.value),
                ttlSeconds: seconds
            )
        }

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.createTicket(session.app(), request))
        }
    }
}

extension RegistrationTicketAnswer: Presentable {
    var text: String { FactList([("ticket", ticket), ("expires", expiresAt.description)]).text }
}
