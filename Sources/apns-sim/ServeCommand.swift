import APNSSimulator
import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// Runs the simulator until SIGTERM or SIGINT.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the simulator until SIGTERM.",
        discussion: "Prints one line 'listening on …' for each listener; the control API comes last."
    )

    @Option(help: "Where the certificate authority is written, for TALLY_APNS_CA_FILE.")
    var caFile = "apns-sim-ca.pem"

    @Option(help: "A numeric address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port of the control API; 0 takes a free one.")
    var controlPort = 0

    @Option(
        name: .customLong("port"),
        help: ArgumentHelp(
            "A listener's port; repeatable. The others take free ones.",
            valueName: "environment.api=port"
        )
    )
    var ports: [RolePort] = []

    @Option(help: "Written when all listen: TALLY_APNS_… and APNS_SIM_CONTROL_URL as lines of NAME=value.")
    var envFile: String?

    @Option(help: "Decides tokens, ids and delays; the same seed gives the same ones. (default: any)")
    var seed: UInt64?

    @Option(help: "Milliseconds until a started phone has its update token: the least.")
    var tokenDelayMin: Int64 = 50

    @Option(help: "Milliseconds until a started phone has its update token: the most.")
    var tokenDelayMax: Int64 = 500

    @Flag(help: "Refuse provider tokens of keys that were not registered with POST /keys.")
    var refuseUnknownKeys = false

    @Option(help: "A bundle id whose broadcast capability is switched off; repeatable.")
    var withoutBroadcast: [String] = []

    @Flag(help: "Answer as Apple's pages print it where the wire was seen to say something else; see 'rules'.")
    var asDocumented = false

    @Flag(help: "Give the message that a channel stores to those who subscribe later, too.")
    var storedForLateSubscribers = false

    @Option(help: "Updates and ends at priority 10 that a phone takes per hour without frequent updates.")
    var highPriorityBudget = PhoneLimits().highPriorityBudget

    @Option(help: "The same with frequent updates.")
    var frequentHighPriorityBudget = PhoneLimits().frequentHighPriorityBudget

    @Option(
        help: "Errors within a minute that halve a connection's streams, ten times as many end it; 0: no penalties."
    )
    var errorLimit = PenaltyLimits().slowDown

    @Option(help: "Tally's address, for the apps on the phones.")
    var tallyURL: String?

    @Option(help: "An API key with the scope 'register'. (default: $TALLY_REGISTER_KEY)")
    var tallyKey: String?

    func validate() throws {
        guard 0 <= tokenDelayMin, tokenDelayMin <= tokenDelayMax else {
            throw ValidationError("--token-delay-min must not be greater than --token-delay-max")
        }
        guard highPriorityBudget >= 0, frequentHighPriorityBudget >= 0 else {
            throw ValidationError("a budget must not be negative")
        }
        guard (0...1_000_000).contains(errorLimit) else {
            throw ValidationError("--error-limit must be from 0 to 1000000")
        }
    }

    func run() async throws {
        var configuration = SimulatorConfiguration(caFile: caFile)
        configuration.host = host
        configuration.controlPort = controlPort
        configuration.ports = Dictionary(ports.map { ($0.role, $0.port) }) { $1 }
        if let seed {
            configuration.settings.seed = seed
        }
        configuration.settings.limits.tokenDelay = tokenDelayMin...tokenDelayMax
        configuration.settings.limits.highPriorityBudget = highPriorityBudget
        configuration.settings.limits.frequentHighPriorityBudget = frequentHighPriorityBudget
        configuration.settings.refusesUnknownKeys = refuseUnknownKeys
        configuration.settings.withoutBroadcast = Set(withoutBroadcast)
        configuration.settings.answersAsDocumented = asDocumented
        configuration.settings.givesStoredToLateSubscribers = storedForLateSubscribers
        configuration.settings.penalties.slowDown = errorLimit
        configuration.settings.penalties.close = errorLimit * 10
        if let tallyURL {
            let key = try RegisterKey.of(tallyKey)
            configuration.tally = TallyRequest(url: tallyURL, key: key)
        }
        let logger = Self.logger()
        let simulator = try SimulatorService(configuration: configuration, logger: logger) {
            [envFile] control, addresses in
            print("listening on \(control) (control)")
            fflush(nil)
            guard let envFile else { return }
            let lines = addresses.environmentLines + ["APNS_SIM_CONTROL_URL=\(control)"]
            do {
                try Data((lines.joined(separator: "\n") + "\n").utf8)
                    .write(to: URL(fileURLWithPath: envFile), options: .atomic)
            } catch {
                logger.error(
                    "cannot write the environment file",
                    metadata: ["path": "\(envFile)", "error": "\(error)"]
                )
            }
        }
        let addresses = try await simulator.start()
        for role in ListenerRole.all {
            print("listening on \(addresses.url(role)) (\(role))")
        }
        fflush(nil)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [simulator],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        try await group.run()
    }

    private static func logger() -> Logger {
        var logger = Logger(label: "apns-sim", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = .notice
        return logger
    }
}

/// `sandbox.device=8443`.
struct RolePort: ExpressibleByArgument {
    let role: ListenerRole
    let port: UInt16

    init?(argument: String) {
        let parts = argument.split(separator: "=")
        guard parts.count == 2, let port = UInt16(parts[1]),
            let role = ListenerRole.all.first(where: { "\($0)" == parts[0].replacing(".", with: " ") })
        else { return nil }
        self.role = role
        self.port = port
    }
}
