import Postgres
import TestSupport

@testable import Orchestrator

/// What becomes of activities that are over.
extension Universe {
    private static let hour: Int64 = 3_600_000

    /// They are deleted when their time has come, whatever was left of them and whoever dies over it; the others stay
    /// as they are. The last that is checked: of those that go on, too, weeks pass.
    func checkRetention() async throws {
        try await outlast()
        let ended = try await activities(thatEnded: true)
        let before = try await activities(thatEnded: false)
        let first = anyDaemon()
        first.kill(afterMoments: .random(in: 1...12, using: &random))
        do {
            _ = try await RetentionDuty(orchestrator: first.orchestrator).deleteDue()
        } catch is PostgresError {
            // It has died over it.
        }
        first.kill()
        try await replaceTheDead()
        _ = try await RetentionDuty(orchestrator: anyDaemon().orchestrator).deleteDue()
        if let left = try await activities(thatEnded: true).first {
            throw BrokenPromise(11, "\(left.key) ended a month ago and is not deleted: \(left.value)")
        }
        let after = try await activities(thatEnded: false)
        guard before == after else { throw BrokenPromise(1, "\(before) became \(after) when others were deleted") }
        note("\(ended.keys.sorted()) are deleted")
    }

    /// Until nothing is owed to anybody any more, the channels are gone at Apple, and the month is over.
    private func outlast() async throws {
        for hours in [13, 1, 26, 30 * 24] as [Int64] {
            try await pass(milliseconds: hours * Self.hour)
            try await settle()
        }
    }

    /// The rows of each activity, by its id.
    private func activities(thatEnded hasEnded: Bool) async throws -> [String: String] {
        let rows = try await clock.database.query(
            """
            SELECT a.activity_id, format('%s changes, channels %s',
                (SELECT count(*) FROM changes AS p WHERE p.activity_key = a.activity_key),
                (SELECT array_agg(p.state) FROM channels AS p WHERE p.activity_key = a.activity_key))
            FROM activities AS a WHERE (a.state = 'ended') = \(hasEnded)
            """
        )
        let rest = try await tables.rowCounts()
        return Dictionary(
            uniqueKeysWithValues: try rows.decoded(as: (String, String).self).map { ($0, "\($1), \(rest[$0] ?? "")") }
        )
    }
}
