import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Users {
    struct RevokeTickets: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse the signed tickets of a user that were made before a time.",
            examples: "tally users revoke-tickets ada"
        )

        @Argument(help: "The user's id.") var id: Checked<UserID>
        @OptionGroup var moment: RevocationMoment
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await moment.revoke(session, of: .user(id.value))
        }
    }
}

extension Devices {
    struct RevokeTickets: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse the signed tickets of a device that were made before a time.",
            examples: "tally devices revoke-tickets phone-1"
        )

        @Argument(help: "The device's id.") var id: Checked<DeviceID>
        @OptionGroup var moment: RevocationMoment
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await moment.revoke(session, of: .device(id.value))
        }
    }
}

struct RevocationMoment: ParsableArguments {
    @Option(help: "Tickets made before then: RFC 3339, or how long ago, such as 10m. Default: now.")
    var before: Checked<PointInTime>?

    var instant: Instant { before?.value.instant() ?? .now }

    func revoke(_ session: CommandSession, of subject: UserOrDevice) async throws {
        session.show(try await session.client.revokeTickets(session.app(), of: subject, before: instant))
    }
}

extension TicketRevocation: Presentable {
    var text: String { FactList([("revoked before", revokedBefore.description)]).text }
}
