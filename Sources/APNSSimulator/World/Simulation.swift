package import ActivityModel
import Synchronization

/// Apple and the phones as one object for any thread: a lock around the world, and a clock.
package final class Simulation: Sendable {
    package let settings: SimulationSettings
    private let world: Mutex<World>
    private let now: @Sendable () -> ClockReading
    private let followUp: @Sendable (FollowUp, Simulation) -> Void

    /// - Parameters:
    ///   - settings: The limits and the seed.
    ///   - now: The clock.
    ///   - followUp: Does the work outside the world. It is called after the event on the same thread, without the
    ///     lock, and must not block.
    package init(
        settings: SimulationSettings,
        now: @escaping @Sendable () -> ClockReading,
        followUp: @escaping @Sendable (FollowUp, Simulation) -> Void
    ) {
        self.settings = settings
        world = Mutex(World(settings: settings))
        self.now = now
        self.followUp = followUp
    }

    /// Checks a request, carries it out, and returns the reaction of its connection.
    ///
    /// `memory` is what Apple remembers about the connection. `connection` is its number, for faults.
    package func receive(_ request: APNSRequest, memory: inout ConnectionMemory, connection: Int) -> Reaction {
        let moment = now()
        let (reaction, followUps) = world.withLock { world in
            world.receive(request, memory: &memory, connection: connection, settings: settings, at: moment)
        }
        followUps.forEach { followUp($0, self) }
        return reaction
    }

    /// The delay of a card's update token is over.
    package func tokenReady(phone: Int, card: Int) {
        change { world, moment in
            ((), world.withPhone(phone, at: moment) { $0.tokenReady(card: card, at: moment) })
        }
    }

    /// Adds phones and launches their apps. Existing phones stay unchanged and are not counted.
    @discardableResult
    package func addPhones(_ profiles: [PhoneProfile]) -> Int {
        change { world, moment in
            let before = world.phones.count
            let followUps = profiles.flatMap { world.addPhone($0, at: moment) }
            return (world.phones.count - before, followUps)
        }
    }

    /// Carries out an action at phones, all at the same instant. Skips unknown phones.
    package func perform(_ action: PhoneAction, on phones: [DeviceID]) {
        change { world, moment in
            let followUps = phones.compactMap { world.phoneNumber($0) }.flatMap { number in
                world.withPhone(number, at: moment) { action.perform(on: &$0, at: moment) }
            }
            return ((), followUps)
        }
    }

    /// Reads the world without changing it.
    func read<Result: Sendable>(_ body: (World, ClockReading) -> Result) -> Result {
        let moment = now()
        return world.withLock { body($0, moment) }
    }

    /// Reads or changes the world without a follow-up.
    func adjust<Result: Sendable>(_ body: (inout World, ClockReading) -> Result) -> Result {
        let moment = now()
        return world.withLock { body(&$0, moment) }
    }

    private func change<Result: Sendable>(_ body: (inout World, ClockReading) -> (Result, [FollowUp])) -> Result {
        let moment = now()
        let (result, followUps) = world.withLock { body(&$0, moment) }
        followUps.forEach { followUp($0, self) }
        return result
    }
}
