package import ActivityModel
import Synchronization

/// Apple and the phones as one thing that may be used from any thread: a lock around the world, and a clock.
package final class Simulation: Sendable {
    package let settings: SimulationSettings
    private let world: Mutex<World>
    private let now: @Sendable () -> Moment
    private let followUp: @Sendable (FollowUp, Simulation) -> Void

    /// - Parameters:
    ///   - settings: The limits and the seed.
    ///   - now: The clock.
    ///   - followUp: Does what has to happen outside. Called after the event, without the lock, on the thread of the
    ///     event; it must not wait.
    package init(
        settings: SimulationSettings,
        now: @escaping @Sendable () -> Moment,
        followUp: @escaping @Sendable (FollowUp, Simulation) -> Void
    ) {
        self.settings = settings
        world = Mutex(World(settings: settings))
        self.now = now
        self.followUp = followUp
    }

    /// Judges a request, lets it have its effect and says what its connection does now.
    ///
    /// `memory` is what Apple remembers of the connection, `connection` its number, for faults.
    package func receive(_ request: APNSRequest, memory: inout ConnectionMemory, connection: Int) -> Reaction {
        let moment = now()
        let (reaction, followUps) = world.withLock { world in
            world.receive(request, memory: &memory, connection: connection, settings: settings, at: moment)
        }
        followUps.forEach { followUp($0, self) }
        return reaction
    }

    /// The delay of a token that a phone waits for is over.
    package func tokenReady(phone: Int, card: Int) {
        change { world, moment in
            ((), world.withPhone(phone, at: moment) { $0.tokenReady(card: card, at: moment) })
        }
    }

    /// Adds phones and launches their apps. Phones that exist already are left alone and not counted.
    @discardableResult
    package func addPhones(_ profiles: [PhoneProfile]) -> Int {
        change { world, moment in
            let before = world.phones.count
            let followUps = profiles.flatMap { world.addPhone($0, at: moment) }
            return (world.phones.count - before, followUps)
        }
    }

    /// Lets an action happen at phones, all at the same moment. Unknown ones are passed over.
    package func perform(_ action: PhoneAction, on phones: [DeviceID]) {
        change { world, moment in
            let followUps = phones.compactMap { world.phoneNumber($0) }.flatMap { number in
                world.withPhone(number, at: moment) { action.perform(on: &$0, at: moment) }
            }
            return ((), followUps)
        }
    }

    /// A look at the world that changes nothing.
    func read<Result: Sendable>(_ body: (World, Moment) -> Result) -> Result {
        let moment = now()
        return world.withLock { body($0, moment) }
    }

    /// Sets, removes or asks about things that have no effect outside.
    func adjust<Result: Sendable>(_ body: (inout World, Moment) -> Result) -> Result {
        let moment = now()
        return world.withLock { body(&$0, moment) }
    }

    private func change<Result: Sendable>(_ body: (inout World, Moment) -> (Result, [FollowUp])) -> Result {
        let moment = now()
        let (result, followUps) = world.withLock { body(&$0, moment) }
        followUps.forEach { followUp($0, self) }
        return result
    }
}
