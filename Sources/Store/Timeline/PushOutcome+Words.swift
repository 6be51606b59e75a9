import APNSTransport

extension PushOutcome {
    /// The answer in words that are safe to keep and to log.
    package var words: String {
        switch (status, reason) {
        case (let status?, let reason?): "\(status) \(reason)"
        case (let status?, nil): "\(status)"
        case (nil, let reason?): reason
        case (nil, nil): detail ?? "no answer"
        }
    }
}
