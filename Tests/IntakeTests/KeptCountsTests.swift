import Store
import Synchronization
import TestSupport
import Testing

@Suite("Counts that are kept")
struct KeptCountsTests {
    private struct Count: RowCount, Equatable {
        var rows: Int
        var revision: Int64 = 1
    }

    /// Counts of activity 1, whose rows take a second to count.
    private final class Counted: Sendable {
        let clock = SteppingClock(step: .zero)
        private let runs = Mutex(0)
        let kept: KeptCounts<Int64, Count>
        let rows: Int
        let took: Duration

        init(rows: Int, took: Duration = .seconds(1)) {
            (self.rows, self.took) = (rows, took)
            kept = KeptCounts(largeSize: 100) { [clock] in clock.now() }
        }

        /// How often they were counted after this look.
        func look(at revision: Int64?) async throws -> Int {
            let counts = try await kept.counts(of: [1: revision]) { keys in
                #expect(keys == [1])
                clock.advance(by: took)
                runs.withLock { $0 += 1 }
                return [1: Count(rows: rows, revision: revision ?? 1)]
            }
            #expect(counts[1]?.rows == rows)
            return runs.withLock { $0 }
        }
    }

    @Test("A small activity is counted each time")
    func small() async throws {
        let counted = Counted(rows: 99)
        #expect(try await counted.look(at: 1) == 1)
        #expect(try await counted.look(at: 1) == 2)
    }

    @Test("A large one is counted again after ten times as long as that took")
    func large() async throws {
        let counted = Counted(rows: 100)
        #expect(try await counted.look(at: 1) == 1)
        counted.clock.advance(by: .seconds(9))
        #expect(try await counted.look(at: 1) == 1)
        counted.clock.advance(by: .seconds(1))
        #expect(try await counted.look(at: 1) == 2)
    }

    @Test("Counts are never older than 30 seconds")
    func longest() async throws {
        let counted = Counted(rows: 100, took: .seconds(20))
        #expect(try await counted.look(at: 1) == 1)
        counted.clock.advance(by: .seconds(29))
        #expect(try await counted.look(at: 1) == 1)
        counted.clock.advance(by: .seconds(1))
        #expect(try await counted.look(at: 1) == 2)
    }

    @Test("A new revision is counted at once; who does not ask for one takes any")
    func revisions() async throws {
        let counted = Counted(rows: 100)
        #expect(try await counted.look(at: 1) == 1)
        #expect(try await counted.look(at: 2) == 2)
        #expect(try await counted.look(at: 1) == 2)
        #expect(try await counted.look(at: nil) == 2)
    }
}
