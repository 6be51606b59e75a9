import Postgres

/// What a walk has read and not sent yet: slices in the order of the ring.
///
/// To read a slice takes the server several times as long as to look whether it may leave. So some are read at once,
/// and while they leave those behind them.
struct RingAhead: Sendable {
    /// The next to leave is the last.
    private var slices: [RingSlice]
    /// The device key of the last destination that was read; nil if nobody is left behind it.
    let last: Int64?
    private let readAt: ContinuousClock.Instant

    /// So many are read at once.
    fileprivate static let size = 4 * TokenPushes.sliceSize
    /// What was read longer ago is not sent: tokens change, and cards go.
    static let maximumAge = Duration.milliseconds(250)

    /// `slices` in the order of the ring.
    init(_ slices: [RingSlice] = [], last: Int64? = nil, readAt: ContinuousClock.Instant = .now) {
        self.slices = slices.reversed()
        self.last = last
        self.readAt = readAt
    }

    /// Reads the rows of ``selection(_:after:count:)``; of fewer than `count` nobody is left behind the last.
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
    /// Looks whether a pass may begin, or go on, and reads its next slice in the same round trip.
    ///
    /// `isFirst`: a newer change than the one that the pass has turned to a moment ago is no hindrance unless it is the
    /// end, because changes may come faster than a walk can turn.
    ///
    /// `seekingDue`: as in ``RingLook/selection(_:isFirst:seekingDue:)``.
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
                .planningOnce, RingLook.selection(pass, isFirst: isFirst, seekingDue: seekingDue),
                RingAhead.selection(pass, after: cursor, count: pass.sliceSize),
            ])
            return (
                try RingLook(results[1]), try RingAhead(results[2], count: pass.sliceSize, sliceSize: pass.sliceSize)
            )
        }
    }

    /// Reads the next destinations of a pass behind a device key.
    func read(_ pass: RingPass, behind key: Int64) async throws -> RingAhead {
        let results = try await database.pipeline([
            .planningOnce, RingAhead.selection(pass, after: key, count: RingAhead.size),
        ])
        return try RingAhead(results[1], count: RingAhead.size, sliceSize: pass.sliceSize)
    }
}

extension RingAhead {
    fileprivate static func selection(_ pass: RingPass, after key: Int64, count: Int) -> Query {
        let range = pass.progress.range
        return """
            SELECT \(unescaped: RingSlice.columns), coalesce(known_revision < \(pass.alert), false)
            FROM subscriptions
            WHERE activity_key = \(pass.lease.activityKey) AND mode = 'token' AND state = 'riding'
              AND device_key > \(max(key, range.after)) AND device_key <= \(min(pass.through ?? .max, range.through))
              AND known_revision < \(pass.change.revision)
            -- A constant: a plan for any number of rows would sort them.
            ORDER BY device_key LIMIT \(unescaped: "\(count)")
            """
    }
}
