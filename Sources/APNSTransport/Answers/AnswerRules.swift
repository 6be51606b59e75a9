/// One row of Apple's list of reasons.
package struct AnswerRule: Sendable, Hashable {
    /// The requests that it is for.
    package let kinds: Set<APNSRequestKind>
    package let status: Int
    /// The text of `reason` in the body.
    package let reason: String
    package let verdict: AnswerVerdict
    package let advice: ConnectionAdvice

    fileprivate init(
        _ kinds: Set<APNSRequestKind>,
        _ status: Int,
        _ reason: String,
        _ verdict: AnswerVerdict,
        _ advice: ConnectionAdvice = .keep
    ) {
        self.kinds = kinds
        self.status = status
        self.reason = reason
        self.verdict = verdict
        self.advice = advice
    }
}

/// What Apple's answers mean, as data.
///
/// Sources: Apple, "Handling notification responses from APNs" and "Handling error responses from Apple Push
/// Notification service", with the wire strings that differ from them where several senders recorded the same:
/// `BadEnvironmentKeyInToken`, `BroadcastFeatureNotEnabled`, 404 `BadPath` for a channel that is gone.
package enum AnswerRules {
    private static let device: Set<APNSRequestKind> = [.devicePush]
    private static let broadcast: Set<APNSRequestKind> = [.broadcastPush]
    private static let channels: Set<APNSRequestKind> = [
        .channelCreation, .channelReading, .channelDeletion, .channelList,
    ]
    private static let shared = broadcast.union(channels)
    private static let pushes = device.union(broadcast)
    private static let all = device.union(shared)

    /// Every row.
    package static let table: [AnswerRule] = [
        // The token.
        AnswerRule(device, 410, "Unregistered", .tokenDead),
        AnswerRule(device, 410, "ExpiredToken", .tokenDead),
        AnswerRule(device, 400, "BadDeviceToken", .tokenRejected),
        AnswerRule(device, 400, "DeviceTokenNotForTopic", .tokenRejected),

        // The channel.
        AnswerRule(shared, 400, "ChannelNotRegistered", .channelGone),
        // Also recorded for a well-formed id that never existed.
        AnswerRule(shared, 400, "BadChannelId", .channelGone),
        // Recorded for deleting a channel that is gone; elsewhere a wrong path is our mistake.
        AnswerRule([.channelDeletion], 404, "BadPath", .channelGone),

        // The request.
        AnswerRule(all.subtracting([.channelDeletion]), 404, "BadPath", .requestInvalid),
        AnswerRule(all, 405, "MethodNotAllowed", .requestInvalid),
        AnswerRule(device, 400, "BadTopic", .requestInvalid),
        AnswerRule(device, 400, "MissingTopic", .requestInvalid),
        AnswerRule(device, 400, "BadCollapseId", .requestInvalid),
        AnswerRule(all, 400, "BadMessageId", .requestInvalid),
        AnswerRule(pushes, 400, "BadPriority", .requestInvalid),
        AnswerRule(device, 400, "DuplicateHeaders", .requestInvalid),
        AnswerRule(pushes, 400, "BadExpirationDate", .requestInvalid),
        AnswerRule(all, 400, "InvalidPushType", .requestInvalid),
        AnswerRule(shared, 400, "MissingPushType", .requestInvalid),
        AnswerRule(device, 400, "MissingDeviceToken", .requestInvalid),
        AnswerRule(pushes, 400, "PayloadEmpty", .requestInvalid),
        AnswerRule(shared, 400, "MissingChannelId", .requestInvalid),
        AnswerRule(shared, 400, "BadRequestParams", .requestInvalid),
        AnswerRule(shared, 400, "BadRequestPayload", .requestInvalid),
        AnswerRule(pushes, 413, "PayloadTooLarge", .requestInvalid),
        AnswerRule(all, 403, "MissingProviderToken", .requestInvalid),

        // Key, team, topic, capability.
        AnswerRule(all, 400, "TopicDisallowed", .credential),
        AnswerRule(shared, 400, "FeatureNotEnabled", .credential),
        AnswerRule(shared, 400, "BroadcastFeatureNotEnabled", .credential),
        AnswerRule(all, 403, "BadCertificate", .credential),
        AnswerRule(all, 403, "BadCertificateEnvironment", .credential),
        AnswerRule(all, 403, "InvalidProviderToken", .credential),
        AnswerRule(all, 403, "BadEnvironmentKeyIdInToken", .credential),
        AnswerRule(all, 403, "BadEnvironmentKeyInToken", .credential),
        AnswerRule(all, 403, "Forbidden", .credential),
        AnswerRule(shared, 403, "TopicMismatch", .credential),
        AnswerRule(all, 403, "ExpiredProviderToken", .credential, .renewToken),

        // The connection.
        AnswerRule(all, 403, "UnrelatedKeyIdInToken", .retry, .replace),
        AnswerRule(all, 400, "IdleTimeout", .retry, .replace),
        AnswerRule(all, 503, "Shutdown", .retry, .replace),

        // The moment.
        AnswerRule(all, 429, "TooManyRequests", .retry),
        AnswerRule(all, 429, "TooManyProviderTokenUpdates", .retry, .keepToken),
        // The app has its 10,000 channels; one has to be deleted first.
        AnswerRule([.channelCreation], 400, "CannotCreateChannelConfig", .retry),
        AnswerRule(all, 500, "InternalServerError", .retry),
        AnswerRule(all, 503, "ServiceUnavailable", .retry),
        // As the broadcast page prints it.
        AnswerRule(shared, 503, "Service Unavailable", .retry),
    ]

    private struct Key: Hashable {
        let kind: APNSRequestKind
        let status: Int
        let reason: String
    }

    private static let rules: [Key: AnswerRule] = {
        var rules: [Key: AnswerRule] = [:]
        for rule in table {
            for kind in rule.kinds {
                rules[Key(kind: kind, status: rule.status, reason: rule.reason)] = rule
            }
        }
        return rules
    }()

    /// Every reason in the table; others come from the peer and are kept as text, but not as labels of metrics.
    static let knownReasons = Set(table.map(\.reason))

    /// What `status` and `reason` mean in answer to a request of `kind`.
    ///
    /// An unknown or missing reason is judged by its status alone, so that no token dies of a text that we do not know.
    package static func judge(
        _ kind: APNSRequestKind,
        status: Int,
        reason: String?
    ) -> (verdict: AnswerVerdict, advice: ConnectionAdvice) {
        if (200..<300).contains(status) {
            return (.accepted, .keep)
        }
        if let reason, let rule = rules[Key(kind: kind, status: status, reason: reason)] {
            return (rule.verdict, rule.advice)
        }
        return (judge(kind, status: status, hasReason: reason != nil), .keep)
    }

    private static func judge(_ kind: APNSRequestKind, status: Int, hasReason: Bool) -> AnswerVerdict {
        switch status {
        case 410 where kind == .devicePush:
            // The status alone says "no longer active for the topic"; with an unknown reason it stays a suspicion.
            hasReason ? .tokenRejected : .tokenDead
        case 404 where kind == .channelDeletion: .channelGone
        case 401, 403: .credential
        case 408, 425, 429: .retry
        case 400..<500: .requestInvalid
        // 5xx, and what no APNs would say: redirects of something in between.
        default: .retry
        }
    }
}
