import APITypes
import APNSSimulator
import ArgumentParser
import Foundation

/// Commands for phones.
struct PhonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phones",
        abstract: "Make phones and let things happen at them.",
        subcommands: [CreatePhones.self, ActOnPhones.self]
    )
}

/// Creates phones. Their apps register with Tally.
struct CreatePhones: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make phones that register with Tally."
    )

    @OptionGroup var simulator: ControlOptions

    @Option(help: "How many.")
    var count = 1

    @Option(help: "Ids are this text and a number.")
    var prefix = "phone-"

    @Option(help: "The first number.")
    var first = 1

    @Option(help: "sandbox or production.")
    var environment = "sandbox"

    @Option(help: "The app.")
    var bundleID: String

    @Option(name: .customLong("type"), help: "An attributes type of the app; repeatable.")
    var types: [String] = ["GameAttributes"]

    @Option(help: "The iOS version.")
    var osVersion = "18.1"

    @Option(help: "The app's version.")
    var appVersion: String?

    @Option(help: "The attribute that holds the activity's id. (default: activityId)")
    var idAttribute: String?

    @Option(help: "An activity that the phones should show, for the report; repeatable.")
    var follows: [String] = []

    @Flag(inversion: .prefixedNo, help: "Ask for start tokens.")
    var startTokens = true

    @Flag(inversion: .prefixedNo, help: "Have frequent updates switched on.")
    var frequentPushes = true

    @Option(help: "User ids are this text and the number.")
    var userPrefix: String?

    @Option(help: "Tally's address, told to the simulator first.")
    var tallyURL: String?

    @Option(help: "An API key with the scope 'register'. (default: $TALLY_REGISTER_KEY)")
    var tallyKey: String?

    @Option(help: "Wait so many seconds until Tally has accepted every report.")
    var wait = 0

    func run() async throws {
        let client = ControlClient(url: try simulator.url())
        if let tallyURL {
            let key = try RegisterKey.of(tallyKey)
            try await client.connect(tallyURL: tallyURL, key: key)
        }
        var phones = ObjectWriter()
        phones.add("count", count)
        phones.add("prefix", prefix)
        phones.add("first", first)
        phones.add("environment", environment)
        phones.add("bundle_id", bundleID)
        phones.add("types", words: types)
        phones.add("os_version", osVersion)
        phones.add("app_version", appVersion)
        phones.add("id_attribute", idAttribute)
        phones.add("follows", words: follows)
        phones.add("start_tokens", startTokens)
        phones.add("frequent_pushes", frequentPushes)
        phones.add("user_prefix", userPrefix)
        print(try await client.create(phones))
        try await client.finishReports(within: wait)
    }
}

/// Carries out an action of a person, of iOS or of the app.
struct ActOnPhones: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "act",
        abstract: "Let something happen at phones.",
        discussion: "Actions: join, rotate, rotate-start, force-quit, launch, swipe-away, offline, online."
    )

    @OptionGroup var simulator: ControlOptions

    @Argument(help: "The action.")
    var action: String

    @Option(name: .customLong("phone"), help: "A phone by its id; repeatable. Without any, and without --prefix: all.")
    var phones: [String] = []

    @Option(help: "Phones whose ids begin with this.")
    var prefix: String?

    @Option(help: "The activity.")
    var activity: String?

    @Option(help: "On join: the channel of Apple's to subscribe to; without it the app asks for an update token.")
    var channel: String?

    @Option(help: "Wait so many seconds until Tally has accepted every report.")
    var wait = 0

    func run() async throws {
        let client = ControlClient(url: try simulator.url())
        let count = try await client.act(
            action,
            phones: phones,
            prefix: prefix,
            activityID: activity,
            channelID: channel
        )
        print("\(action): \(count) phones")
        try await client.finishReports(within: wait)
    }
}

extension ControlClient {
    /// Waits for the phones' reports. The command fails if some are still unsent.
    fileprivate func finishReports(within seconds: Int) async throws {
        guard seconds > 0 else { return }
        let (pending, error) = try await waitForReports(.seconds(seconds))
        guard pending > 0 else { return }
        throw ValidationError("\(pending) reports were not accepted: \(error ?? "no Tally to report to")")
    }
}
