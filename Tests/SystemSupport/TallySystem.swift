package import APITypes
package import ActivityModel
import Cryptography
package import Foundation
import Glibc
package import JSON
package import LocalPostgres
package import Postgres
import Synchronization
package import TallyClient
import TestSupport
import Waiting

/// Everything of Tally as processes of its own: a database of the private cluster, the simulator, the daemon. The app
/// and the type of the samples are registered, and phones report.
package final class TallySystem: Sendable {
    package static let app = knownGood(BundleID("com.example.matchday"))
    package static let type = knownGood(ActivityTypeName("GameAttributes"))
    package static let team = knownGood(TeamID("ABCDE12345"))
    package static let adminKey = "end-to-end-admin-key"

    /// How a system differs from the usual one.
    package struct Options: Sendable {
        /// Milliseconds until a started phone has its update token.
        package var tokenDelay = 20...100
        /// Further settings of the daemons.
        package var environment: [String: String] = [:]
        /// Further arguments of the simulator.
        package var simulatorArguments: [String] = []
        /// The folder of the programs that the daemon begins with; nil for that of this build.
        package var programs: URL?
        /// A database server of its own, which a test may restart; nil for that of all tests.
        package var ownServer: DatabasePlace.OwnServer?

        package init() {}
    }

    package let folder: PrivateFolder
    /// For a look into the tables.
    package let database: Database
    package let simulator: Simulator
    /// The database server, where the system has one of its own.
    package let server: LocalCluster?
    package let standby: LocalCluster?
    /// The first daemon.
    package let first: DaemonProcess
    /// Further daemons on the same database.
    private let others = Mutex<[DaemonProcess]>([])

    private init(_ folder: PrivateFolder, _ place: DatabasePlace, _ options: Options) async throws {
        self.folder = folder
        database = place.database
        server = place.server
        standby = place.standby
        simulator = try await Simulator.start(
            in: folder,
            tokenDelay: options.tokenDelay,
            arguments: options.simulatorArguments
        )
        let settings = simulator.environment.filter { $0.key.hasPrefix("TALLY_") }
            .merging([
                "TALLY_DATABASE_URL": place.url,
                "TALLY_MASTER_KEY": Data(repeating: 7, count: 32).base64EncodedString(),
                "TALLY_BOOTSTRAP_KEY": Self.adminKey,
                "TALLY_LOG_LEVEL": "notice",
            ]) { $1 }
            .merging(options.environment) { $1 }
        first = DaemonProcess(settings: settings, in: folder)
        first.change(programs: options.programs)
    }

    /// Lends a running system; it is ended and removed afterwards, whatever happens.
    package static func with<R>(
        _ options: Options = Options(),
        _ body: (TallySystem) async throws -> R
    ) async throws -> R {
        await slots.enter()
        defer { slots.leave() }
        let folder = try PrivateFolder()
        let duty = LastDuties.add { folder.remove() }
        defer {
            LastDuties.remove(duty)
            folder.remove()
        }
        guard let own = options.ownServer else {
            return try await DatabasePlace.with { try await with(options, at: $0, in: folder, body) }
        }
        return try await DatabasePlace.with(own, in: folder) { try await with(options, at: $0, in: folder, body) }
    }

    private static func with<R>(
        _ options: Options,
        at place: DatabasePlace,
        in folder: PrivateFolder,
        _ body: (TallySystem) async throws -> R
    ) async throws -> R {
        let system = try await TallySystem(folder, place, options)
        let duty = LastDuties.add { system.endAtOnce() }
        defer { LastDuties.remove(duty) }
        let result: Result<R, any Error>
        do {
            try await system.migrate(by: options.programs)
            try await system.setUp()
            result = .success(try await body(system))
        } catch {
            result = .failure(Failure("\(error)\n--- tallyd\n\(system.first.log.suffix(4_000))"))
        }
        for daemon in system.daemons.reversed() { await daemon.stop() }
        await system.simulator.program.stop()
        return try result.get()
    }

    // MARK: The daemons

    /// All of them, running or not.
    package var daemons: [DaemonProcess] { [first] + others.withLock { $0 } }

    /// The first daemon's settings, and all others' for what is not their own.
    package var settings: [String: String] { first.settings }

    /// The address of the first daemon's API.
    package var url: String { first.url }

    /// The first daemon's program.
    package var daemon: RunningProgram { get throws { try first.program } }

    /// Starts the first daemon, and waits until it takes requests.
    package func startDaemon() async throws { try await first.start() }

    /// Kills the first daemon.
    package func killDaemon() async { await first.kill() }

    /// Starts another daemon, of the version of the first, on the same database if no setting says otherwise, with an
    /// address of its own.
    package func startAnotherDaemon(environment: [String: String] = [:]) async throws -> DaemonProcess {
        let daemon = DaemonProcess(settings: settings.merging(environment) { $1 }, in: folder)
        daemon.change(programs: first.programs)
        others.withLock { $0.append(daemon) }
        try await daemon.start()
        return daemon
    }

    private func endAtOnce() {
        for daemon in daemons { daemon.endAtOnce() }
        simulator.program.signal(SIGKILL)
    }

    // MARK: Calls

    /// Calls with an admin key, or another one, once and as they are.
    package func api(key: String? = adminKey) -> HTTPCaller { HTTPCaller(base: url, key: key) }

    /// Calls that go on trying until the daemon is there; without an address, the first one.
    package func client(url: String? = nil) throws -> TallyClient {
        let configuration = TallyClient.Configuration(
            url: url ?? self.url,
            key: Self.adminKey,
            requestTimeout: .seconds(10),
            deadline: .seconds(90)
        )
        return try TallyClient(configuration)
    }

    package func activity(_ id: ActivityID) async throws -> ActivityResource {
        try await client().activity(Self.app, id)
    }

    /// Apple's id of an activity's channel, as soon as it has one.
    package func channel(of id: ActivityID) async throws -> String {
        try await eventually("the channel of \(id)") { try await activity(id).channel?.apnsChannelID?.rawValue }
    }

    // MARK: Setting up

    /// Brings the database to the schema of this build, or of the one in the folder `programs`.
    package func migrate(by programs: URL? = nil) async throws {
        let (ending, output, errors) = try await RunningProgram.run(
            "tallyd",
            ["migrate"],
            from: programs,
            environment: settings,
            in: folder
        )
        guard ending == .exited(0) else { throw Failure("tallyd migrate: \(ending) \(output) \(errors)") }
    }

    private func setUp() async throws {
        try await startDaemon()
        try await sign(with: try Self.signingKey())
        let client = try client()
        _ = try await client.putType(Self.app, Self.type, try Samples.typeRequest())
        try await reportPhones(to: url)
    }

    /// Provider tokens are signed with this key from now on.
    package func sign(with key: SigningKeyRequest) async throws {
        _ = try await client().putApp(Self.app, AppRequest(teamID: Self.team, environments: [.production: key]))
    }

    /// The apps on phones report to this daemon from now on.
    package func reportPhones(to url: String) async throws {
        let key = try await client(url: url).createKey(APIKeyRequest(name: "phones", scopes: [.register]))
        try await simulator.connect(url: url, key: key.secret ?? "")
    }

    /// A new key as Apple's `.p8` files hold them.
    package static func signingKey(_ id: String = "ABC123DEFG") throws -> SigningKeyRequest {
        SigningKeyRequest(keyID: knownGood(KeyID(id)), privateKey: try P256PrivateKey.generate().pem())
    }

    /// So many systems at a time: a few processes each, and machines that test have few cores.
    private static let slots = Turnstile(width: 3)
}

/// The files in `docs/samples`.
package enum Samples {
    package static func json(_ name: String) throws -> JSONValue {
        try JSONValue.parse([UInt8](Data(contentsOf: Places.sample(name))))
    }

    /// With rules that a struct of Swift cannot say, as an operator may add them by hand.
    private static func stricter(_ schema: JSONValue) -> JSONValue {
        var schema = schema.object ?? [:]
        var properties = schema["properties"]?.object ?? [:]
        var score = properties["homeScore"]?.object ?? [:]
        score["minimum"] = 0
        properties["homeScore"] = .object(score)
        properties["period"] = [
            "enum": [
                "firstHalf", "halfTime", "secondHalf", "fullTime", "extraTimeFirst", "extraTimeSecond", "penalties",
                "ended",
            ]
        ]
        schema["properties"] = .object(properties)
        schema["additionalProperties"] = false
        return .object(schema)
    }

    package static func typeRequest() throws -> TypeRequest {
        var policy = try Policy(json: try json("game-policy.json"))
        // Tests do not wait for two minutes.
        policy.startRetrySeconds = 2
        return TypeRequest(
            source: .schemas(
                attributes: try json("game-attributes.schema.json"),
                contentState: stricter(try json("game-content-state.schema.json"))
            ),
            policy: policy
        )
    }
}

/// For literals in tests.
package func knownGood<Value>(_ value: Value?, _ file: StaticString = #fileID, _ line: UInt = #line) -> Value {
    guard let value else { preconditionFailure("a literal of the tests is not valid", file: file, line: line) }
    return value
}
