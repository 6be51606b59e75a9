import APITypes
import Synchronization

/// Counts the requests of each caller that are under way.
///
/// A rate alone does not bound what slow bodies hold in memory: each may take minutes.
final class OpenRequests: Sendable {
    private let limit: Int
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter limit: how many one caller may have.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts a request until the result is let go.
    ///
    /// - Throws: 429 `too_many_requests` for one too many.
    func enter(_ caller: String) throws(Problem) -> OpenRequest {
        let isAdmitted = counts.withLock { counts in
            guard counts[caller, default: 0] < limit else { return false }
            counts[caller, default: 0] += 1
            return true
        }
        guard isAdmitted else { throw .tooManyOpenRequests(limit: limit, retryAfter: 1) }
        return OpenRequest(of: caller, in: self)
    }

    fileprivate func leave(_ caller: String) {
        counts.withLock { counts in
            counts[caller, default: 1] -= 1
            if counts[caller] == 0 { counts[caller] = nil }
        }
    }
}

/// One request under way, for as long as this exists.
final class OpenRequest: Sendable {
    private let caller: String
    private let requests: OpenRequests

    fileprivate init(of caller: String, in requests: OpenRequests) {
        self.caller = caller
        self.requests = requests
    }

    deinit {
        requests.leave(caller)
    }
}
