import APITypes
import APNSSimulator
import APNSTransport
import ActivityModel
import ArgumentParser
import Console
import Cryptography
import HTTPAPI
import LocalPostgres
import Logging
import Orchestrator
import Postgres
import Registry
import Store
import WebhookTransport

/// `tallyd dev`: runs Tally with the simulator and its own Postgres cluster, for development.
struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run everything on this machine without configuration: Postgres, the APNs simulator, the daemon.",
        discussion: """
            Data and keys lie in the state folder and are kept from run to run. When all is ready, the file dev.env in it holds \
            TALLY_URL, TALLY_API_KEY and APNS_SIM_CONTROL_URL as lines of NAME=value.
            """
    )

    @Option(help: "Where data, keys and dev.env lie.")
    var state = ".tally"

    @Option(help: "Port of the API, 0 for any.")
    var port = 0

    @Option(help: "Port of the simulator's control API, 0 for any.")
    var controlPort = 0

    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel = "notice"

    func validate() throws {
        guard Logger.Level(rawValue: logLevel) != nil else {
            throw ValidationError("'\(logLevel)' is not a log level")
        }
    }

    func run() async throws {
        let level = Logger.Level(rawValue: logLevel) ?? .notice
        let folder = try DevFolder(state)
        let cluster = try await LocalCluster(LocalCluster.Options(folder: folder.path("postgres")))
        try await cluster.start()
        let result: Result<Void, any Error>
        do {
            // Removed only now: while another process runs the cluster, the file belongs to that process.
            try folder.remove(.environment)
            result = .success(try await run(in: folder, on: cluster, level))
        } catch {
            result = .failure(error)
        }
        try folder.remove(.environment)
        try await cluster.stop()
        try result.get()
    }

    private func run(in folder: DevFolder, on cluster: LocalCluster, _ level: Logger.Level) async throws {
        try await cluster.createDatabase("tally")
        let database = try Database(
            url: cluster.connectionString(database: "tally"),
            logger: Daemon.logger(level: .warning)
        )
        _ = try await Migrator.ofThisVersion().migrate(database)
        await database.shutDown()

        var simulation = SimulatorConfiguration(caFile: folder.path("apns-sim-ca.pem"))
        simulation.controlPort = controlPort
        let control = AsyncStream<String>.makeStream()
        let simulator = try SimulatorService(configuration: simulation, logger: Daemon.logger(level: level)) { url, _ in
            control.continuation.yield(url)
            control.continuation.finish()
        }
        let addresses = try await simulator.start()

        let apiKey = try folder.secret(.apiKey) { "tally_" + Base64URL.encode(SecureRandom.bytes(32)) }
        let masterKey = try folder.secret(.masterKey) { Base64.encode(SecureRandom.bytes(SymmetricKey.byteCount)) }
        var configuration = DaemonConfiguration(
            databaseURL: cluster.connectionString(database: "tally"),
            masterKeys: try DaemonConfiguration.masterKeys(masterKey)
        )
        configuration.http.port = port
        configuration.orchestrator.bootstrapKey = apiKey
        configuration.apnsCAFile = addresses.caFile
        configuration.logLevel = level
        configuration.webhookAllowed = ["127.0.0.0/8", "::1"].compactMap { AddressBlock($0) }
        for environment in APNSEnvironment.allCases {
            for (api, apple) in [(APNSAPI.device, AppleAPI.device), (.broadcast, .broadcast), (.channels, .channels)] {
                try configuration.endpoints.setURL(
                    addresses.url(environment, apple),
                    environment: environment,
                    api: api,
                    name: "\(apple)"
                )
            }
        }
        try await Daemon(configuration: configuration).run(companions: [simulator]) { url, orchestrator, console in
            let phonesKey = try await Self.phonesKey(in: folder, orchestrator)
            try simulator.control.connect(TallyRequest(url: url, key: phonesKey))
            var controlURL = ""
            for await address in control.stream { controlURL = address }
            try folder.write(
                .environment,
                "TALLY_URL=\(url)\nTALLY_API_KEY=\(apiKey)\nAPNS_SIM_CONTROL_URL=\(controlURL)\n"
            )
            print("listening on \(url)")
            print("simulator control on \(controlURL)")
            if let console {
                print(
                    "console, signed in once with this link: \(url)\(try console.signInLink(secret: apiKey, now: .now))"
                )
            }
            print(
                "API key and addresses for your shell: set -a; . \(folder.path(DevFolder.File.environment.rawValue)); set +a"
            )
            flushOutput()
        }
    }

    /// The API key with which phones report, as apps do. It stays the same between runs, unless it was revoked or the
    /// database is new.
    private static func phonesKey(in folder: DevFolder, _ orchestrator: Orchestrator) async throws -> String {
        if let kept = folder.kept(.phonesKey), try await orchestrator.registry.authenticate(secret: kept) != nil {
            return kept
        }
        let request = APIKeyRequest(name: "phones of the simulator", scopes: [.register])
        let secret = try await orchestrator.registry.createAPIKey(request).secret ?? ""
        try folder.write(.phonesKey, secret)
        return secret
    }
}
