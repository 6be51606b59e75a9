import Cards
import DeliveryStore
import Postgres
import Store

/// The slices that a walk has read and not sent yet, in the order of the ring.
///
/// Reading a slice takes the server several times as long as checking whether it may leave. So several are read at
/// once, and the next ones while these leave.
struct RingAhead: Sendable {
    /// The next to leave is the last.
    private var slices: [RingSlice]
    /// The device key of the last destination that was read; nil if no destination follows it.
    let last: Int64?
    private let readAt: ContinuousClock.Instant

    /// How many destinations are read at once.
    fileprivate static let size = 4 * TokenPushes.sliceSize
    /// Slices that were read longer ago are not sent: tokens change, and cards go.
    static let maximumAge = Duration.milliseconds(250)

    /// `slices` in the order of the ring.
    init(_ slices: [RingSlice] = [], last: Int64? = nil, readAt: ContinuousClock.Instant = .now) {
        self.slices = slices.reversed()
        self.last = last
        self.readAt = readAt
    }

    /// Reads the rows of ``RingPass/selection(after:count:)``. Fewer than `count` rows mean that no destination follows the
    /// last.
    fileprivate init(_ rows: Rows, count: Int, sliceSize: Int) throws {
        var slices: [RingSlice] = []
        for row in rows.indices {
            if row % sliceSize == 0 { slices.append(RingSlice()) }
            try slices[slices.count - 1].append(row, of: rows)
        }
        self.init(slices, last: rows.count < count ? nil : slices.last?.deviceKeys.last)
    }

    var isEmpty: Bool { slices.isEmpty }

    func isOutdated(at now: ContinuousClock.Instant) -> Bool { !isEmpty && now - readAt > Self.maximumAge }

    /// Takes the next slice.
    mutating func next() -> RingSlice? { slices.popLast() }
}

extension SegmentStore {
    /// Checks whether a pass may begin or continue, and reads its next slice in the same round trip.
    ///
    /// `isFirst`: a change newer than the one that the pass has just turned to stops the pass only if it is the end.
    /// Changes may come faster than a walk can turn.
    ///
    /// `seekingDue`: as in ``RingPass/look(isFirst:seekingDue:)``.
    ///
    /// - Throws: ``LeaseLost``.
    func read(
        _ pass: RingPass,
        after cursor: Int64,
        isFirst: Bool,
        seekingDue: Bool
    ) async throws -> (RingLook, RingAhead) {
        try await prolonging(pass.lease) {
            let results = try await database.pipeline([
                .planningOnce, pass.look(isFirst: isFirst, seekingDue: seekingDue),
                pass.selection(after: cursor, count: pass.sliceSize),
            ])
            return (
                try RingLook(results[1]), try RingAhead(results[2], count: pass.sliceSize, sliceSize: pass.sliceSize)
            )
        }
    }

    /// Reads the next destinations of a pass behind a device key.
    func read(_ pass: RingPass, behind key: Int64) async throws -> RingAhead {
        let results = try await database.pipeline([
            .planningOnce, pass.selection(after: key, count: RingAhead.size),
        ])
        return try RingAhead(results[1], count: RingAhead.size, sliceSize: pass.sliceSize)
    }
}
