import TestSupport
import Testing

@testable import Ownership

/// The database of the tests.
private struct Tables {
    private var renewals: [Int64: Int64] = [:]
    private var rows: [Int16: Ownership.Row] = [:]
    private var last: Int64 = 0

    private var look: Ownership.Look {
        Ownership.Look(renewals: renewals, rows: rows.values.sorted { $0.partition < $1.partition })
    }

    /// One look of a daemon, as ``PartitionKeeper`` takes it.
    mutating func look(_ ownership: inout Ownership, at now: Duration) {
        guard let daemon = ownership.daemon else {
            last += 1
            renewals[last] = 0
            return ownership.entered(as: last, sentAt: now)
        }
        guard renewals[daemon] != nil else { return ownership.ended() }
        renewals[daemon, default: 0] += 1
        ownership.renewed(sentAt: now)
        for action in ownership.saw(look, at: now) {
            switch action {
            case .bury(let seen):
                for (other, renewal) in seen where renewals[other] == renewal { renewals[other] = nil }
                look(&ownership, at: now)
            case .claim(let epochs): ownership.claimed(claim(epochs, for: daemon))
            case .release(let partitions):
                ownership.lost(partitions)
                release(partitions)
            }
        }
    }

    mutating func claim(_ epochs: [Int16: Int64], for daemon: Int64) -> [Int16: Int64] {
        var claimed: [Int16: Int64] = [:]
        for (partition, epoch) in epochs where (rows[partition]?.epoch ?? 0) == epoch {
            rows[partition] = Ownership.Row(partition: partition, owner: daemon, epoch: epoch + 1)
            claimed[partition] = epoch + 1
        }
        return claimed
    }

    private mutating func release(_ partitions: [Int16]) {
        for partition in partitions {
            guard let row = rows[partition] else { continue }
            rows[partition] = Ownership.Row(partition: partition, owner: nil, epoch: row.epoch)
        }
    }

    mutating func leave(_ ownership: inout Ownership) {
        release(Array(ownership.held.keys))
        if let daemon = ownership.daemon { renewals[daemon] = nil }
        ownership.ended()
    }
}

@Suite("Ownership of partitions")
struct OwnershipTests {
    private static let all = Int(Ownership.partitions)

    /// A daemon that owns everything at 0.5 s.
    private func lone(_ tables: inout Tables) -> Ownership {
        var ownership = Ownership()
        for tick in 0...1 { tables.look(&ownership, at: .milliseconds(500 * tick)) }
        return ownership
    }

    @Test("A lone daemon owns everything, two share, and a third gets its part")
    func sharing() {
        var tables = Tables()
        var daemons = [Ownership(), Ownership(), Ownership()]
        for (tick, count) in [1, 1, 2, 2, 2, 2, 3, 3, 3, 3].enumerated() {
            for index in 0..<count { tables.look(&daemons[index], at: .milliseconds(500 * tick)) }
            let held = daemons.flatMap(\.held.keys)
            #expect(Set(held).count == held.count)
            if tick == 1 { #expect(daemons[0].held.count == Self.all) }
            if tick == 5 { #expect(daemons.map(\.held.count) == [32, 32, 0]) }
        }
        #expect(daemons.map(\.held.count).reduce(0, +) == Self.all)
        #expect(daemons.allSatisfy { $0.held.count <= 22 })
    }

    @Test("A dead daemon's partitions are taken over within 5 s, under a new epoch")
    func takeover() throws {
        var tables = Tables()
        let dead = lone(&tables)
        var other = Ownership()
        var end: Duration?
        for tick in 2...20 where end == nil {
            let now = Duration.milliseconds(500 * tick)
            tables.look(&other, at: now)
            if other.held.count == Self.all { end = now }
        }
        #expect(try #require(end) - .milliseconds(500) <= .seconds(5))
        #expect(other.held.values.allSatisfy { $0 == 2 })
        #expect(dead.held.values.allSatisfy { $0 == 1 })
    }

    @Test("No two daemons may begin a push for one partition at the same moment")
    func paused() {
        var tables = Tables()
        let paused = lone(&tables)
        var other = Ownership()
        // The first daemon still believes that it owns everything, and looks no more.
        for tenth in 5...80 {
            let now = Duration.milliseconds(100 * tenth)
            if tenth.isMultiple(of: 5) { tables.look(&other, at: now) }
            #expect(paused.remaining(0, at: now) == nil || other.remaining(0, at: now) == nil)
        }
        #expect(other.remaining(0, at: .seconds(8)) != nil)
        #expect(paused.held.count == Self.all)
        #expect(paused.remaining(0, at: .milliseconds(2_900)) != nil)
    }

    @Test("A daemon that renews late is spared, and one that was deleted owns nothing and enters again")
    func late() {
        var tables = Tables()
        var first = lone(&tables)
        var other = Ownership()
        for tick in 2...6 { tables.look(&other, at: .milliseconds(500 * tick)) }
        tables.look(&first, at: .milliseconds(3_600))
        tables.look(&other, at: .milliseconds(4_200))
        #expect(first.remaining(0, at: .milliseconds(4_200)) != nil)
        for tick in 9...16 { tables.look(&other, at: .milliseconds(500 * tick)) }
        #expect(other.held.count == Self.all)
        tables.look(&first, at: .seconds(9))
        #expect(first.held.isEmpty && first.daemon == nil)
        tables.look(&first, at: .seconds(9))
        #expect(first.daemon == 3)
    }

    @Test("The partitions of a daemon that leaves are free at the next look")
    func leaving() {
        var tables = Tables()
        var leaver = lone(&tables)
        var other = Ownership()
        tables.look(&other, at: .seconds(1))
        tables.leave(&leaver)
        #expect(leaver.held.isEmpty)
        tables.look(&other, at: .seconds(1))
        #expect(other.held.count == Self.all)
    }

    @Test("A partition that somebody claimed after the look is not taken")
    func oldEpoch() {
        var tables = Tables()
        #expect(tables.claim([3: 0], for: 1) == [3: 1])
        #expect(tables.claim([3: 0], for: 2) == [:])
        var ownership = Ownership()
        ownership.entered(as: 1, sentAt: .zero)
        ownership.claimed([3: 1])
        let row = Ownership.Row(partition: 3, owner: 2, epoch: 2)
        _ = ownership.saw(Ownership.Look(renewals: [1: 0, 2: 0], rows: [row]), at: .zero)
        #expect(ownership.held[3] == nil)
    }
}
