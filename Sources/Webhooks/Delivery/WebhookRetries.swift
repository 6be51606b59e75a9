import APITypes

/// When a failed request is repeated, and when Tally gives up. Pure: time is an argument.
enum WebhookRetries {
    /// How long an address may fail before its webhook is paused.
    static let patience = Duration.seconds(24 * 3_600)
    /// The longest pause; a receiver cannot ask for a longer one.
    static let longestPause = Duration.seconds(2 * 3_600)

    private static let pauses: [Duration] = [
        .seconds(5), .seconds(60), .seconds(5 * 60), .seconds(30 * 60), longestPause,
    ]

    enum Decision: Hashable {
        case delivered
        case retry(after: Duration, error: String)
        case pause(WebhookPause, error: String)
    }

    /// - Parameters:
    ///   - answer: What became of the request.
    ///   - failures: Requests that failed in a row before this one.
    ///   - time: For how long they have failed.
    ///   - jitter: From 0 to 1. Addresses that failed together are not tried again together.
    /// - Returns: What to do now.
    static func decision(
        _ answer: WebhookAnswer,
        failures: Int,
        failingFor time: Duration,
        jitter: Double
    ) -> Decision {
        let error: String
        var asked = Duration.zero
        switch answer {
        case .status(200..<300, _): return .delivered
        case .status(410, _): return .pause(.gone, error: "HTTP 410")
        case .status(let status, let retryAfter):
            error = "HTTP \(status)"
            asked = retryAfter ?? .zero
        case .failed(let words): error = words
        }
        guard time < patience else { return .pause(.unreachable, error: error) }
        let usual = pauses[min(max(failures, 0), pauses.count - 1)] * (1 + 0.1 * jitter)
        // The last try is at the end of the patience.
        return .retry(after: min(max(usual, asked), longestPause, patience - time), error: error)
    }
}
