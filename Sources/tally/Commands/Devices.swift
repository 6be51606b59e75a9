import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Installations of an app and their tokens.",
        subcommands: [
            Put.self, List.self, Show.self, FollowedTopicsCommand.self, Delete.self, Ticket.self,
            RevokeTickets.self,
        ]
    )

    struct Put: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Report a device, as its app would.",
            discussion: "An option that you leave out keeps its stored value.",
            examples: "tally devices put phone-1 --environment sandbox --user ada"
        )

        @Argument(help: "The id that the app chose for this installation.") var id: Checked<DeviceID>
        @Option(help: "sandbox or production.") var environment: APNSEnvironment
        @Option(help: "Whose device it is.") var user: Checked<UserID>?
        @Flag(help: "Nobody is signed in.") var signedOut = false
        @Option(help: "The version of iOS.") var osVersion: Checked<OSVersion>?
        @Option(help: "The version of the app.") var appVersion: Checked<AppVersion>?
        @Option(help: "The token for ordinary pushes, in hex.") var deviceToken: Checked<PushToken>?
        @Option(help: ArgumentHelp("A push-to-start token; repeat.", valueName: "type=hex[:generation]"))
        var startToken: [StartTokenArgument] = []
        @Option(help: "Tells this installation of the app from earlier ones, whose reports are stale.")
        var installation: String?
        @Option(help: "A topic that the device follows; repeat for all of them. Without it they stay.")
        var topic: [Checked<Topic>] = []
        @Flag(inversion: .prefixedNo, help: "Whether Live Activities are switched on.") var activities: Bool?
        @Flag(inversion: .prefixedNo, help: "Whether frequent pushes are allowed.") var frequentPushes: Bool?
        @OptionGroup var app: AppOption

        func validate() throws {
            if signedOut, user != nil { throw ValidationError("Give --user or --signed-out, not both.") }
        }

        var request: DeviceRequest {
            DeviceRequest(
                environment: environment,
                user: signedOut ? .nobody : ReportedUser(known: user?.value),
                osVersion: osVersion?.value,
                appVersion: appVersion?.value,
                activitiesEnabled: activities,
                frequentPushesEnabled: frequentPushes,
                deviceToken: deviceToken?.value,
                // If a type is given twice, the last one wins.
                startTokens: Dictionary(startToken.map { ($0.type, $0.token) }) { _, last in last },
                installation: installation,
                topics: topic.isEmpty ? nil : topic.map(\.value)
            )
        }

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.putDevice(session.app(), id.value, request))
        }
    }

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The devices of an app.",
            examples: "tally devices list --user ada",
            "tally devices list --token 80f4"
        )

        @Option(help: "Only those of one user.") var user: Checked<UserID>?
        @Option(help: "Only those with this token, of any kind: all of it in hex, or its first four digits.")
        var token: Checked<PushToken>?
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let client = session.client
            let list = try await client.devices(session.app(), user: user?.value, token: token?.value, page.request)
            session.show(list)
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One device; its tokens are masked.",
            examples: "tally devices show phone-1"
        )

        @Argument(help: "The device's id.") var id: Checked<DeviceID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.device(session.app(), id.value))
        }
    }

    struct Delete: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget a device and its tokens.",
            examples: "tally devices delete phone-1"
        )

        @Argument(help: "The device's id.") var id: Checked<DeviceID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await session.client.deleteDevice(session.app(), id.value)
            session.show(done: "\(id.value) is deleted.")
        }
    }
}

/// `GameAttributes=80ab…:3`: a type, its start token and an optional generation.
struct StartTokenArgument: ExpressibleByArgument, Equatable {
    let type: ActivityTypeName
    let token: StartTokenRequest

    init?(argument: String) {
        let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, let type = ActivityTypeName(String(sides[0])) else { return nil }
        let parts = sides[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let token = parts.first.flatMap({ PushToken(hex: String($0)) }) else { return nil }
        var generation: Int64?
        if parts.count == 2 {
            guard let number = Int64(parts[1]), number >= 0 else { return nil }
            generation = number
        }
        self.type = type
        self.token = StartTokenRequest(token: token, generation: generation)
    }
}

extension APNSEnvironment: ExpressibleByArgument {}
