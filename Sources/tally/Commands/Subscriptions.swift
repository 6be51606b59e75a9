import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Activities {
    struct Subscribe: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Report the card of a device, as its app would.",
            discussion: "Says how Tally reaches the card from now on. With --ended, Tally sends nothing more to it.",
            examples: "tally activities subscribe match-1 phone-1 --update-token 80f4a6c1"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Argument(help: "The device.") var device: Checked<DeviceID>
        @Option(help: "The card's update token, in hex.") var updateToken: Checked<PushToken>?
        @Flag(help: "It listens to the activity's channel.") var channel = false
        @Option(help: "It listens to this channel, by Apple's id.") var channelID: Checked<APNSChannelID>?
        @Flag(help: "The card is gone.") var ended = false
        @Flag(help: "The card is scheduled and has not begun.") var pending = false
        @Option(help: "Grows with every report; a report with a smaller one changes nothing.") var generation: Int64?
        @Option(help: "The installation of the app that counts the generations.") var installation: String?
        @Option(help: "The revision that the card shows; without it that of the start or the last push.")
        var knownRevision: Revision?
        @Option(help: "ActivityKit's own id of the card.") var activitykitID: String?
        @Option(help: "sandbox or production; for a device that is unknown so far.") var environment: APNSEnvironment?
        @Option(help: "The version of iOS.") var osVersion: Checked<OSVersion>?
        @Option(help: "The version of the app.") var appVersion: Checked<AppVersion>?
        @OptionGroup var app: AppOption

        func validate() throws { _ = try report() }

        /// Reads exactly one of the four options.
        private func report() throws -> SubscriptionRequest.Report {
            let reports: [SubscriptionRequest.Report] = [
                updateToken.map { .updateToken($0.value) }, channelID.map { .channelID($0.value) },
                channel ? .channel : nil, ended ? .ended : nil,
            ].compactMap(\.self)
            guard reports.count == 1 else {
                throw ValidationError("Give one of --update-token, --channel, --channel-id and --ended.")
            }
            return reports[0]
        }

        /// The request. Checks the API's rules before it is sent.
        func request() throws -> SubscriptionRequest {
            let request = SubscriptionRequest(
                try report(),
                isPending: pending,
                generation: generation,
                knownRevision: knownRevision,
                activityKitID: activitykitID,
                environment: environment,
                osVersion: osVersion?.value,
                appVersion: appVersion?.value,
                installation: installation
            )
            return try SubscriptionRequest(json: request.json)
        }

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.subscribe(session.app(), id.value, device.value, request()))
        }
    }

    struct Unsubscribe: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the card of one device on the phone, then forget it.",
            examples: "tally activities unsubscribe match-1 phone-1"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Argument(help: "The device.") var device: Checked<DeviceID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await session.client.unsubscribe(session.app(), id.value, device.value)
            session.show(done: "The card of \(device.value) is ended.")
        }
    }
}

extension Activities {
    struct Subscriptions: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The cards of an activity, and why one is not sent to.",
            discussion: "'tally activities explain --device' tells the story of one.",
            examples: "tally activities subscriptions match-1 --state rejected"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(
            help: """
                Only those in one state: \(SubscriptionState.allCases.map(\.rawValue).joined(separator: ", ")).
                """
        )
        var state: SubscriptionState?
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let client = session.client
            session.show(try await client.subscriptions(session.app(), id.value, state: state, page.request))
        }
    }
}

extension SubscriptionState: ExpressibleByArgument {}

extension SubscriptionResource: Listable {
    static let columns: [Table.Column] = [
        .init(title: "DEVICE"), .init(title: "MODE", isExtra: true), .init(title: "STATE"), .init(title: "REASON"),
        .init(title: "REVISION", isNumber: true, isExtra: true), .init(title: "TOKEN", isExtra: true),
        .init(title: "STARTED", isExtra: true), .init(title: "REGISTERED", isExtra: true),
        .init(title: "DUE", isExtra: true),
    ]

    var row: [String] {
        [
            deviceID.rawValue, mode.rawValue, state.rawValue, reason ?? "", String(revision), updateToken ?? "",
            startedAt.inTable, registeredAt.inTable, dueAt?.inTable ?? "",
        ]
    }
}

extension SubscriptionAnswer: Presentable {
    var text: String {
        FactList([
            ("activity", activityID.rawValue), ("device", deviceID.rawValue), ("mode", mode.rawValue),
            ("state", state.rawValue), ("revision", String(revision)), ("activity state", activityState.rawValue),
            ("ignored", stale?.rawValue),
        ]).text
    }
}
