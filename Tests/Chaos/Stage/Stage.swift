import LocalPostgres
import Synchronization
import SystemSupport
import TestSupport

/// The running system of one scenario, and chance that can be repeated.
final class Stage: Sendable {
    let system: TallySystem
    let load: SteadyLoad
    let isShort: Bool
    private let random: Mutex<SeededRandom>

    init(_ system: TallySystem, seed: UInt64, isShort: Bool) throws {
        self.system = system
        self.isShort = isShort
        load = try SteadyLoad(system, seed: seed)
        random = Mutex(SeededRandom(seed: seed))
    }

    var simulator: Simulator { system.simulator }

    func daemon(_ number: Int) -> DaemonProcess { system.daemons[number] }

    /// How often or how long: less in a short run.
    func count(_ full: Int, short: Int) -> Int { isShort ? short : full }

    /// Any number of a range, the same with the same seed.
    func chance(_ range: ClosedRange<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }

    /// Lets up to so many milliseconds pass.
    func pause(upTo milliseconds: Int) async {
        await SystemSupport.pause(.milliseconds(chance(0...milliseconds)))
    }

    /// Lets so many seconds pass, or fewer in a short run.
    func pause(seconds: Int, short: Int) async {
        await SystemSupport.pause(.seconds(count(seconds, short: short)))
    }

    /// Many answers of Apple's come late from now on, so that whatever goes wrong finds pushes that phones have and nobody
    /// knows of.
    func answerLate() async throws {
        for (event, milliseconds) in [("start", 300), ("update", 100), ("end", 200)] {
            try await simulator.delayAnswers(to: event, milliseconds: milliseconds, probability: 0.5)
        }
    }
}
