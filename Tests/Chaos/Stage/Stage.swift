import JSON
import LocalPostgres
import Synchronization
import SystemSupport
import TestSupport

/// The running system of one scenario, and chance that can be repeated.
final class Stage: Sendable {
    let system: TallySystem
    let load: SteadyLoad
    private let smallDisk: SmallDisk?
    private let isShort: Bool
    private let random: Mutex<SeededRandom>
    private let relays = Mutex<[Relay]>([])

    init(_ system: TallySystem, on disk: SmallDisk?, seed: UInt64, crowd: Int, isShort: Bool) throws {
        self.system = system
        self.isShort = isShort
        smallDisk = disk
        load = try SteadyLoad(system, seed: seed, crowd: crowd)
        random = Mutex(SeededRandom(seed: seed))
    }

    /// Ends what this has begun itself.
    func end() {
        for relay in relays.withLock({ $0 }) { relay.close() }
    }

    var simulator: Simulator { system.simulator }

    func daemon(_ number: Int) -> DaemonProcess { system.daemons[number] }

    var server: LocalCluster {
        get throws {
            guard let server = system.server else { throw Failure("the scenario has no database server of its own") }
            return server
        }
    }

    /// The disk of the database, where it has one of its own.
    var disk: SmallDisk {
        get throws {
            guard let smallDisk else { throw Failure("the scenario has no disk of its own") }
            return smallDisk
        }
    }

    // MARK: Chance and time

    /// How often or how long: less in a short run.
    func count(_ full: Int, short: Int) -> Int { isShort ? short : full }

    /// Any number of a range, the same with the same seed.
    func chance(_ range: ClosedRange<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }

    /// A share of a list, the same with the same seed.
    func share<Element: Sendable>(_ share: Double, of list: [Element]) -> [Element] {
        random.withLock { Array(list.shuffled(using: &$0).prefix(Int(Double(list.count) * share))) }
    }

    /// Lets up to so many milliseconds pass.
    func pause(upTo milliseconds: Int) async {
        await TestSupport.pause(.milliseconds(chance(0...milliseconds)))
    }

    /// Lets so many seconds pass, or fewer in a short run.
    func pause(seconds: Int, short: Int) async {
        await TestSupport.pause(.seconds(count(seconds, short: short)))
    }

    // MARK: Ways

    /// Puts a relay between every daemon and a server, by a setting that names the relay; restarts the daemons.
    func putRelay(to target: Relay.Target, setting: String, _ value: (UInt16) -> String) async throws {
        let relay = try Relay(to: target)
        relays.withLock { $0.append(relay) }
        try await restartDaemons(with: [setting: value(relay.port)])
    }

    /// The relay that was put last.
    var relay: Relay {
        get throws {
            guard let relay = relays.withLock({ $0.last }) else { throw Failure("the scenario has no relay") }
            return relay
        }
    }

    func restartDaemons(with settings: [String: String]) async throws {
        for daemon in system.daemons {
            await daemon.stop()
            daemon.change(settings)
            try await daemon.start()
        }
    }

    // MARK: Apple

    /// Many answers of Apple's come late from now on, so that whatever goes wrong finds pushes that phones have and
    /// nobody knows of.
    func answerLate() async throws {
        for (event, milliseconds) in [("start", 300), ("update", 100), ("end", 200)] {
            try await simulator.delayAnswers(to: event, milliseconds: milliseconds, probability: 0.5)
        }
    }

    /// Lets Apple do something to a share of the requests, and for how long; `effect` and `match` as the control API
    /// takes them.
    ///
    /// - Throws: ``Failure`` if no request was hit: then nothing was tried.
    func fault(
        _ effect: JSONValue,
        match: JSONValue = [:],
        probability: Double = 1,
        seconds: Int,
        short: Int
    ) async throws {
        try await simulator.setFault("fault", effect, match: match, probability: probability)
        await pause(seconds: seconds, short: short)
        guard try await simulator.removeFault("fault") > 0 else { throw Failure("the fault has hit no request") }
    }
}
