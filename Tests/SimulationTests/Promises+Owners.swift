@testable import Orchestrator
import Ownership

/// Who owns the partitions. A daemon may be stopped before each statement of a look, for any time and with its memory
/// intact; it may die there; and the database's clock may jump.
extension Universe {
    /// A daemon looks after its partitions, unless an earlier look of it has been stopped.
    func keepPartitions() async {
        let daemon = anyDaemon()
        if let earlier = looks[daemon.name], stage.waiting.contains(earlier) { return }
        let actor = Stage.Actor(daemon: daemon.name, number: number())
        looks[daemon.name] = actor
        await stage.begin(actor) {
            // A look that fails is made again; the daemon's memory says what it may still send.
            try? await daemon.orchestrator.partitions.look()
        }
    }

    /// Promise 12: no two daemons may begin a push for one partition at the same moment, whatever they believe.
    func checkOwners() throws {
        var owners: [Int16: String] = [:]
        for daemon in daemons {
            for partition in daemon.orchestrator.partitions.owned {
                if let other = owners.updateValue(daemon.name, forKey: partition) {
                    throw BrokenPromise(12, "\(other) and \(daemon.name) both own partition \(partition)")
                }
            }
        }
    }

    /// Promise 12: 5 s after the last death every partition has an owner.
    func checkTakeover() async throws {
        for _ in 0..<10 {
            try await pass(milliseconds: 500)
            for daemon in daemons {
                try await daemon.orchestrator.partitions.look()
                try checkOwners()
            }
        }
        let owned = daemons.flatMap(\.orchestrator.partitions.owned).count
        guard owned == Int(Ownership.partitions) else {
            throw BrokenPromise(12, "only \(owned) partitions have an owner")
        }
    }
}
