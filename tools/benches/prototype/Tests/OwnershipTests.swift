import EnginePrototype
import Testing

/// The database of the tests: it keeps leases by its own clock and gives partitions to whoever asks in time.
private struct FakeDatabase {
    private(set) var leases: [Int64: ContinuousClock.Instant] = [:]
    private var owners: [Int16: (owner: Int64?, epoch: Int64)]

    init(partitions: Int16) {
        owners = Dictionary(uniqueKeysWithValues: (0..<partitions).map { ($0, (nil, 0)) })
    }

    mutating func enter(_ daemon: Int64, at now: ContinuousClock.Instant) { leases[daemon] = now + .seconds(3) }

    /// As `Store.renew`.
    mutating func renew(_ daemon: Int64, at now: ContinuousClock.Instant) -> Bool {
        let isAlive = leases[daemon] != nil
        if isAlive { leases[daemon] = now + .seconds(3) }
        leases = leases.filter { $0.value >= now }
        return isAlive
    }

    var table: [Ownership.Row] {
        owners.sorted { $0.key < $1.key }.map { partition, row in
            Ownership.Row(
                partition: partition,
                owner: row.owner,
                epoch: row.epoch,
                isOwnerAlive: row.owner.map { leases[$0] != nil } ?? false
            )
        }
    }

    /// As `Store.claim`.
    mutating func claim(_ partitions: [Int16], for daemon: Int64) -> [Int16: Int64] {
        var claimed: [Int16: Int64] = [:]
        for partition in partitions {
            guard let row = owners[partition], row.owner.map({ leases[$0] == nil }) ?? true else { continue }
            owners[partition] = (daemon, row.epoch + 1)
            claimed[partition] = row.epoch + 1
        }
        return claimed
    }

    mutating func release(_ partitions: [Int16]) {
        for partition in partitions { owners[partition]?.owner = nil }
    }

    /// One look of a daemon, as the engine makes it once a second.
    mutating func look(_ ownership: inout Ownership, _ daemon: Int64, at now: ContinuousClock.Instant) {
        guard renew(daemon, at: now) else { return ownership.declaredDead(continuingAs: daemon + 100) }
        ownership.renewed(sentAt: now)
        for action in ownership.saw(table, daemons: leases.count) {
            switch action {
            case .claim(let partitions): ownership.claimed(claim(partitions, for: daemon))
            case .release(let partitions):
                ownership.lost(partitions)
                release(partitions)
            }
        }
    }
}

@Suite("Ownership of partitions")
struct OwnershipTests {
    private let start = ContinuousClock.now

    private func second(_ number: Double) -> ContinuousClock.Instant { start + .seconds(number) }

    @Test("A lone daemon owns everything, and two share")
    func sharing() {
        var database = FakeDatabase(partitions: 8)
        var (first, second) = (Ownership(daemon: 1), Ownership(daemon: 2))
        database.enter(1, at: start)
        database.look(&first, 1, at: start)
        #expect(first.held.count == 8)
        database.enter(2, at: start)
        for step in 1...3 {
            database.look(&first, 1, at: self.second(Double(step)))
            database.look(&second, 2, at: self.second(Double(step)))
        }
        #expect(first.held.count == 4)
        #expect(second.held.count == 4)
        #expect(Set(first.held.keys).isDisjoint(with: second.held.keys))
    }

    @Test("A dead daemon's partitions are taken over within 5 s, under a new epoch")
    func takeover() {
        var database = FakeDatabase(partitions: 8)
        var (dying, other) = (Ownership(daemon: 1), Ownership(daemon: 2))
        database.enter(1, at: start)
        database.look(&dying, 1, at: start)
        database.enter(2, at: start)
        for step in 1...5 where other.held.count < 8 {
            database.look(&other, 2, at: second(Double(step) - 0.001))
        }
        #expect(other.held.count == 8)
        #expect(other.held.values.allSatisfy { $0 == 2 })
    }

    @Test("No two daemons may begin a push for one partition at the same moment")
    func paused() {
        var database = FakeDatabase(partitions: 1)
        var (paused, other) = (Ownership(daemon: 1), Ownership(daemon: 2))
        database.enter(1, at: start)
        database.look(&paused, 1, at: start)
        database.enter(2, at: start)
        // The first daemon still believes that it owns the partition, and does not look any more.
        for tenth in 1...60 {
            let now = second(Double(tenth) / 10)
            if tenth % 5 == 0 { database.look(&other, 2, at: now) }
            #expect(paused.remaining(0, at: now) == nil || other.remaining(0, at: now) == nil)
        }
        #expect(other.held == [0: 2])
        #expect(paused.held == [0: 1])
        #expect(paused.remaining(0, at: second(2.4)) != nil)
    }

    @Test("A daemon that was declared dead stops at once, whatever its clock says")
    func declaredDead() {
        var database = FakeDatabase(partitions: 2)
        var (late, other) = (Ownership(daemon: 1), Ownership(daemon: 2))
        database.enter(1, at: start)
        database.look(&late, 1, at: start)
        database.enter(2, at: second(3.1))
        database.look(&other, 2, at: second(3.1))
        database.look(&late, 1, at: second(3.2))
        #expect(late.held.isEmpty)
        #expect(late.remaining(0, at: second(3.2)) == nil)
        #expect(other.held.count == 2)
    }

    @Test("A row with another epoch is no longer owned")
    func otherEpoch() {
        var ownership = Ownership(daemon: 1)
        ownership.claimed([3: 1])
        _ = ownership.saw([.init(partition: 3, owner: 1, epoch: 2, isOwnerAlive: true)], daemons: 1)
        #expect(ownership.held.isEmpty)
    }
}
