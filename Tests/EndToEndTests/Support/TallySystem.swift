import APITypes
import ActivityModel
import Cryptography
import Foundation
import JSON
import LocalPostgres
import Postgres
import Synchronization
import TallyClient
import TestSupport

/// Everything of Tally as processes of its own: a database of the private cluster, the simulator, the daemon. The app and
/// the type of the samples are registered, and phones report.
final class TallySystem: Sendable {
    static let app = knownGood(BundleID("com.example.matchday"))
    static let type = knownGood(ActivityTypeName("GameAttributes"))
    static let adminKey = "end-to-end-admin-key"

    /// How a system differs from the usual one.
    struct Options: Sendable {
        /// Milliseconds until a started phone has its update token.
        var tokenDelay = 20...100
        /// Further settings of the daemon.
        var environment: [String: String] = [:]
        /// Whether it has a database server of its own, which a test may restart.
        var hasOwnServer = false
    }

    let folder: PrivateFolder
    /// For a look into the tables.
    let database: Database
    let simulator: Simulator
    /// The daemon's settings.
    let settings: [String: String]
    /// The address of the API, the same over restarts.
    let url: String
    private let daemonProgram = Mutex<RunningProgram?>(nil)
    /// Further daemons on the same database.
    private let others = Mutex<[RunningProgram]>([])

    /// The database server, where the system has one of its own.
    let server: LocalCluster?

    private init(_ folder: PrivateFolder, _ place: DatabasePlace, _ options: Options) async throws {
        self.folder = folder
        database = place.database
        server = place.server
        simulator = try await Simulator.start(in: folder, tokenDelay: options.tokenDelay)
        let address = Self.newAddress()
        url = "http://\(address.host):\(address.port)"
        settings = simulator.environment.filter { $0.key.hasPrefix("TALLY_") }
            .merging([
                "TALLY_DATABASE_URL": place.url,
                "TALLY_MASTER_KEY": Data(repeating: 7, count: 32).base64EncodedString(),
                "TALLY_BOOTSTRAP_KEY": Self.adminKey,
                "TALLY_HTTP_HOST": address.host,
                "TALLY_HTTP_PORT": "\(address.port)",
                "TALLY_LOG_LEVEL": "notice",
            ]) { $1 }
            .merging(options.environment) { $1 }
    }

    /// Lends a running system; it is ended and removed afterwards, whatever happens.
    static func with<R>(
        _ options: Options = Options(),
        _ body: (TallySystem) async throws -> R
    ) async throws -> R {
        await slots.take()
        defer { slots.giveBack() }
        let folder = try PrivateFolder()
        defer { folder.remove() }
        return try await DatabasePlace.with(ownServerIn: options.hasOwnServer ? folder : nil) { place in
            let system = try await TallySystem(folder, place, options)
            let result: Result<R, any Error>
            do {
                try await system.setUp()
                result = .success(try await body(system))
            } catch {
                result = .failure(Failure("\(error)\n--- tallyd\n\(system.log.suffix(4_000))"))
            }
            for program in system.others.withLock({ $0 }) { await program.stop() }
            await system.daemonProgram.withLock { $0.take() }?.stop()
            await system.simulator.program.stop()
            return try result.get()
        }
    }

    // MARK: The daemon

    /// The running daemon.
    var daemon: RunningProgram {
        get throws {
            guard let program = daemonProgram.withLock({ $0 }) else { throw Failure("the daemon does not run") }
            return program
        }
    }

    /// What the daemon has logged since it was last started.
    private var log: String { daemonProgram.withLock { $0 }?.errors ?? "" }

    /// Starts the daemon, and waits until it takes requests.
    func startDaemon() async throws {
        let program = try await RunningProgram.start("tallyd", ["serve"], environment: settings, in: folder)
        daemonProgram.withLock { $0 = program }
        let line = try await program.line(beginningWith: "listening on ")
        guard line == "listening on \(url)" else { throw Failure("'\(line)' instead of \(url)") }
    }

    /// Starts another daemon on the same database, if no setting says otherwise, with an address of its own.
    func startAnotherDaemon(
        environment: [String: String] = [:]
    ) async throws -> (program: RunningProgram, url: String) {
        let address = Self.newAddress()
        let settings = settings.merging(["TALLY_HTTP_HOST": address.host, "TALLY_HTTP_PORT": "\(address.port)"]) { $1 }
            .merging(environment) { $1 }
        let program = try await RunningProgram.start("tallyd", ["serve"], environment: settings, in: folder)
        others.withLock { $0.append(program) }
        let line = try await program.line(beginningWith: "listening on ")
        return (program, String(line.dropFirst("listening on ".count)))
    }

    /// SIGKILL.
    func killDaemon() async throws {
        try await daemon.kill()
    }

    // MARK: Calls

    /// Calls with an admin key, or another one, once and as they are.
    func api(key: String? = adminKey) -> HTTPCaller { HTTPCaller(base: url, key: key) }

    /// Calls that go on trying until the daemon is there; without an address, the first one.
    func client(url: String? = nil) throws -> TallyClient {
        let configuration = TallyClient.Configuration(
            url: url ?? self.url,
            key: Self.adminKey,
            requestTimeout: .seconds(10),
            deadline: .seconds(90)
        )
        return try TallyClient(configuration)
    }

    func activity(_ id: ActivityID) async throws -> ActivityResource { try await client().activity(Self.app, id) }

    /// Apple's id of an activity's channel, as soon as it has one.
    func channel(of id: ActivityID) async throws -> String {
        try await eventually("the channel of \(id)") { try await activity(id).channel?.apnsChannelID?.rawValue }
    }

    // MARK: Setting up

    private func setUp() async throws {
        let (ending, output, errors) = try await RunningProgram.run(
            "tallyd",
            ["migrate"],
            environment: settings,
            in: folder
        )
        guard ending == .exited(0) else { throw Failure("tallyd migrate: \(ending) \(output) \(errors)") }
        try await startDaemon()
        let client = try client()
        _ = try await client.putApp(
            Self.app,
            AppRequest(teamID: knownGood(TeamID("ABCDE12345")), environments: [.production: try Self.signingKey()])
        )
        _ = try await client.putType(Self.app, Self.type, try Samples.typeRequest())
        try await reportPhones(to: url)
    }

    /// The apps on phones report to this daemon from now on.
    func reportPhones(to url: String) async throws {
        let key = try await client(url: url).createKey(APIKeyRequest(name: "phones", scopes: [.register]))
        try await simulator.connect(url: url, key: key.secret ?? "")
    }

    /// A new key as Apple's `.p8` files hold them.
    static func signingKey() throws -> SigningKeyRequest {
        SigningKeyRequest(keyID: knownGood(KeyID("ABC123DEFG")), privateKey: try P256PrivateKey.generate().pem())
    }

    private static let ports = Atomic<UInt16>(20_000)

    /// An address that no other process has: all of 127.0.0.0/8 is this machine. So a daemon finds its port free again
    /// after a crash, which a port taken from the system would not promise.
    private static func newAddress() -> (host: String, port: UInt16) {
        let id = UInt32(bitPattern: ProcessInfo.processInfo.processIdentifier)
        let host = "127.\(64 + id >> 16 & 63).\(id >> 8 & 255).\(id & 255)"
        return (host, ports.add(1, ordering: .relaxed).newValue)
    }

    /// So many systems at a time: a few processes each, and machines that test have few cores.
    private static let slots = Slots(3)
}

/// The files in `docs/samples`.
enum Samples {
    static func json(_ name: String) throws -> JSONValue {
        try JSONValue.parse([UInt8](Data(contentsOf: Places.sample(name))))
    }

    static func typeRequest() throws -> TypeRequest {
        TypeRequest(
            source: .schemas(
                attributes: try json("game-attributes.schema.json"),
                contentState: try json("game-content-state.schema.json")
            ),
            policy: try Policy(json: try json("game-policy.json"))
        )
    }
}

/// For literals in tests.
func knownGood<Value>(_ value: Value?, _ file: StaticString = #fileID, _ line: UInt = #line) -> Value {
    guard let value else { preconditionFailure("a literal of the tests is not valid", file: file, line: line) }
    return value
}
