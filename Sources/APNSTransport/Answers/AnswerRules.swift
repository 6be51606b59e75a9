/// Where a row of the table comes from.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
    /// About pushes to devices.
    case responses = "Handling notification responses from APNs"
    /// About broadcasts and channels, which it lists together.
    case errors = "Handling error responses from Apple Push Notification service"
    /// Apple's pages say nothing, or something else: several senders recorded the same on the wire.
    case recorded = "recorded on the wire"
}

/// One row of Apple's list of reasons.
package struct AnswerRule: Sendable, Hashable {
    /// The requests that it is for.
    package let kinds: Set<APNSRequestKind>
    package let status: Int
    /// The text of `reason` in the body.
    package let reason: String
    package let verdict: AnswerVerdict
    package let advice: ConnectionAdvice
    /// Apple's pages that list it.
    package let sources: [AnswerSource]

    fileprivate init(
        _ kinds: Set<APNSRequestKind>,
        _ status: Int,
        _ reason: String,
        _ verdict: AnswerVerdict,
        _ advice: ConnectionAdvice,
        _ sources: AnswerSource...
    ) {
        self.kinds = kinds
        self.status = status
        self.reason = reason
        self.verdict = verdict
        self.advice = advice
        self.sources = sources
    }
}

/// What Apple's answers mean, as data.
///
/// Each row names Apple's pages that have it. A reason that concerns connections or provider tokens means the same for
/// every API, also where Apple lists it for devices only. `docs/apns-answers.md` shows the table to operators.
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
    package static let table: [AnswerRule] = token + channel + request + credential + connection + moment

    private static let token = [
        AnswerRule(device, 410, "Unregistered", .tokenDead, .keep, .responses),
        AnswerRule(device, 410, "ExpiredToken", .tokenDead, .keep, .responses),
        AnswerRule(device, 400, "BadDeviceToken", .tokenRejected, .keep, .responses),
        AnswerRule(device, 400, "DeviceTokenNotForTopic", .tokenRejected, .keep, .responses),
    ]

    private static let channel = [
        AnswerRule(shared, 400, "ChannelNotRegistered", .channelGone, .keep, .errors),
        // Apple: bad encoding or too long. Recorded also for a well-formed id that never existed.
        AnswerRule(shared, 400, "BadChannelId", .channelGone, .keep, .errors, .recorded),
        // For deleting a channel that is gone; elsewhere a wrong path is our mistake.
        AnswerRule([.channelDeletion], 404, "BadPath", .channelGone, .keep, .recorded),
    ]

    private static let request = [
        AnswerRule(all.subtracting([.channelDeletion]), 404, "BadPath", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(all, 405, "MethodNotAllowed", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(device, 400, "BadTopic", .requestInvalid, .keep, .responses),
        AnswerRule(device, 400, "MissingTopic", .requestInvalid, .keep, .responses),
        AnswerRule(device, 400, "BadCollapseId", .requestInvalid, .keep, .responses),
        AnswerRule(all, 400, "BadMessageId", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(pushes, 400, "BadPriority", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(device, 400, "DuplicateHeaders", .requestInvalid, .keep, .responses),
        AnswerRule(pushes, 400, "BadExpirationDate", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(all, 400, "InvalidPushType", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(shared, 400, "MissingPushType", .requestInvalid, .keep, .errors),
        AnswerRule(device, 400, "MissingDeviceToken", .requestInvalid, .keep, .responses),
        AnswerRule(pushes, 400, "PayloadEmpty", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(shared, 400, "MissingChannelId", .requestInvalid, .keep, .errors),
        AnswerRule(shared, 400, "BadRequestParams", .requestInvalid, .keep, .errors),
        AnswerRule(shared, 400, "BadRequestPayload", .requestInvalid, .keep, .errors),
        AnswerRule(pushes, 413, "PayloadTooLarge", .requestInvalid, .keep, .responses, .errors),
        AnswerRule(all, 403, "MissingProviderToken", .requestInvalid, .keep, .responses, .errors),
    ]

    /// Key, team, topic, capability.
    private static let credential = [
        AnswerRule(all, 400, "TopicDisallowed", .credential, .replaceOld, .responses, .errors),
        AnswerRule(shared, 400, "FeatureNotEnabled", .credential, .keep, .errors),
        // What comes instead of the documented word.
        AnswerRule(shared, 400, "BroadcastFeatureNotEnabled", .credential, .keep, .recorded),
        AnswerRule(all, 403, "BadCertificate", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "BadCertificateEnvironment", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "InvalidProviderToken", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "BadEnvironmentKeyIdInToken", .credential, .keep, .responses),
        // What comes instead of the documented word.
        AnswerRule(all, 403, "BadEnvironmentKeyInToken", .credential, .keep, .recorded),
        AnswerRule(all, 403, "Forbidden", .credential, .keep, .responses),
        AnswerRule(shared, 403, "TopicMismatch", .credential, .replaceOld, .errors),
        AnswerRule(all, 403, "ExpiredProviderToken", .credential, .renewToken, .responses, .errors),
    ]

    private static let connection = [
        AnswerRule(all, 403, "UnrelatedKeyIdInToken", .retry, .replace, .responses),
        AnswerRule(all, 400, "IdleTimeout", .retry, .replace, .responses),
        AnswerRule(all, 503, "Shutdown", .retry, .replace, .responses, .errors),
    ]

    /// Nothing is wrong but the moment.
    private static let moment = [
        AnswerRule(all, 429, "TooManyRequests", .retry, .keep, .responses, .errors),
        AnswerRule(all, 429, "TooManyProviderTokenUpdates", .retry, .keepToken, .responses, .errors),
        // The app has its 10,000 channels; one has to be deleted first.
        AnswerRule([.channelCreation], 400, "CannotCreateChannelConfig", .retry, .keep, .errors),
        AnswerRule(all, 500, "InternalServerError", .retry, .keep, .responses, .errors),
        AnswerRule(all, 503, "ServiceUnavailable", .retry, .keep, .responses, .errors),
        // As the page prints it.
        AnswerRule(shared, 503, "Service Unavailable", .retry, .keep, .errors),
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

    /// Faults of what all pushes of a batch have in common: the topic, the other header fields, the body.
    static let commonFaults: Set<String> = [
        "BadTopic", "MissingTopic", "BadCollapseId", "BadPriority", "DuplicateHeaders", "BadExpirationDate",
        "InvalidPushType", "PayloadEmpty", "PayloadTooLarge", "MissingProviderToken", "MethodNotAllowed",
    ]

    /// Every reason in the table; others come from the peer and are kept as text, but not as labels of metrics.
    static let knownReasons = Set(table.map(\.reason))

    /// What `status` and `reason` mean in answer to a request of `kind`.
    ///
    /// An answer without a reason of the table may come from a proxy, or from an Apple that is ill. It is judged by its
    /// status alone, and never final: no token dies of it, and no request is given up.
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
        return ([401, 403].contains(status) ? .credential : .retry, .keep)
    }
}
