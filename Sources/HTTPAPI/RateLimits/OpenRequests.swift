import APITypes
import Synchronization

/// Counts each caller's open requests, to limit their memory.
///
/// A rate limit is not enough: a slow body may stay in memory for minutes.
final class OpenRequests: Sendable {
    private let limit: Int
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter limit: the most open requests of one caller.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts a request for as long as the returned object exists.
    ///
    /// - Throws: 429 `too_many_requests` if the caller is at the limit.
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

/// One open request, for as long as this object exists.
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
