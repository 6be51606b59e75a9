/// How many bytes a body may have.
package enum PayloadLimit {
    /// Pushes to `/3/device`, but for calls.
    package static let device = 4096
    /// Pushes to `/3/device` of type `voip`.
    package static let call = 5120
    /// Pushes to channels.
    package static let broadcast = 5120

    /// Why a body of `count` bytes would be refused, in Apple's words; nil if it would not.
    static func refusal(count: Int, limit: Int) -> PushOutcome? {
        guard count > 0 else {
            return PushOutcome(.requestInvalid, reason: "PayloadEmpty")
        }
        guard count <= limit else {
            return PushOutcome(
                .requestInvalid,
                reason: "PayloadTooLarge",
                detail: "\(count) bytes, \(limit) are allowed"
            )
        }
        return nil
    }
}
