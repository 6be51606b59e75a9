import Postgres
import TestSupport

/// Promise 12: several daemons can carry one activity, and nobody is forgotten or served twice by that.
extension Universe {
    func checkRings() async throws {
        let parts = Dictionary(grouping: try await tables.parts(), by: \.activity)
        for (activity, parts) in parts {
            let ends = [0] + parts.map(\.through)
            guard parts.map(\.after) == Array(ends.dropLast()), ends.last == .max else {
                throw BrokenPromise(12, "the rings of \(activity) do not hold every device once")
            }
            if parts.count > 1 { hasDividedRings = true }
        }
    }
}
