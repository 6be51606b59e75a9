import BenchSupport
import Cryptography
import Orchestrator

/// Fills a database for a daemon of another process: the app, the type and the first activity, devices, and for each of
/// them what `--with` names: `subscriptions` (of the first activity), `start-tokens`, or `nothing`.
struct Load: Sendable {
    private let options: Options
    private let devices: Int
    private let with: String

    struct Result: Encodable {
        let devices: Int
        let seconds: Double
    }

    init(_ options: Options) throws {
        self.options = options
        devices = try options.number("devices")
        with = try options.text("with")
    }

    func run() async throws -> Result {
        let began = ContinuousClock.now
        let daemon = try Daemon(options, masterKey: SymmetricKey(base64: options.text("master-key")))
        try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.prepare()
            try await scene.addDevices(devices)
            switch with {
            case "subscriptions": try await scene.addSubscriptions(ofEach: devices)
            case "start-tokens": try await scene.addStartTokens()
            case "nothing": break
            default: throw Mistake("--with \(with) is unknown")
            }
            try await scene.rest()
        }
        return Result(devices: devices, seconds: ContinuousClock.now.seconds(since: began))
    }
}
