/// The source of a row of the table.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
    /// "Handling notification responses from APNs", the page about pushes to devices.
    case responses
    /// "Handling error responses from Apple Push Notification service", the page about broadcasts and channels, which it
    /// lists together.
    case errors
    /// Several senders have recorded this on the wire; Apple's pages omit or contradict it.
    case recorded
}

/// One row of Apple's list of reasons.
package struct AnswerRule: Sendable, Hashable {
    /// The kinds of request that it applies to.
    package let kinds: Set<APNSRequestKind>
    package let status: Int
    /// The text of `reason` in the body.
    package let reason: String
    package let verdict: PushOutcome.Word
    package let advice: ConnectionAdvice
    /// Apple's pages that list it.
    package let sources: [AnswerSource]

    fileprivate init(
        _ kinds: Set<APNSRequestKind>,
        _ status: Int,
        _ reason: String,
        _ verdict: PushOutcome.Word,
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

/// The meaning of Apple's answers, as a table.
///
/// Each row names Apple's pages that list it. A reason about connections or provider tokens applies to every API, even
/// if Apple lists it for devices only. `docs/reference/apns-answers.md` shows the table to operators.
package enum AnswerRules {
    private static let device: Set<APNSRequestKind> = [.devicePush]
    private static let broadcast: Set<APNSRequestKind> = [.broadcastPush]
    private static let channels: Set<APNSRequestKind> = [
        .channelCreation, .channelReading, .channelDeletion, .channelList,
    ]
    private static let shared = broadcast.union(channels)
    private static let pushes = device.union(broadcast)
    private static let all = device.union(shared)

    /// All rows.
    package static let table: [AnswerRule] = token + channel + request + credential + connection + moment

    private static let token = [
        AnswerRule(device, 410, "Unregistered", .tokenDead, .keep, .responses),
        AnswerRule(device, 410, "ExpiredToken", .tokenDead, .keep, .responses),
        AnswerRule(device, 400, "BadDeviceToken", .tokenRejected, .keep, .responses),
        AnswerRule(device, 400, "DeviceTokenNotForTopic", .tokenRejected, .keep, .responses),
    ]

    private static let channel = [
        AnswerRule(shared, 400, "ChannelNotRegistered", .channelGone, .keep, .errors),
        // Apple: bad encoding or too long. Also recorded for a well-formed id that never existed.
        AnswerRule(shared, 400, "BadChannelId", .channelGone, .keep, .errors, .recorded),
        // Deleting a channel that does not exist returns this. Any other request with a wrong path is a bug of Tally.
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

    /// Rows about key, team, topic and capability.
    private static let credential = [
        AnswerRule(all, 400, "TopicDisallowed", .credential, .replaceOld, .responses, .errors),
        AnswerRule(shared, 400, "FeatureNotEnabled", .credential, .keep, .errors),
        // Apple sends this instead of the documented reason.
        AnswerRule(shared, 400, "BroadcastFeatureNotEnabled", .credential, .keep, .recorded),
        AnswerRule(all, 403, "BadCertificate", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "BadCertificateEnvironment", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "InvalidProviderToken", .credential, .keep, .responses, .errors),
        AnswerRule(all, 403, "BadEnvironmentKeyIdInToken", .credential, .keep, .responses),
        // Apple sends this instead of the documented reason.
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

    /// Rows about temporary problems.
    private static let moment = [
        AnswerRule(all, 429, "TooManyRequests", .retry, .keep, .responses, .errors),
        AnswerRule(all, 429, "TooManyProviderTokenUpdates", .retry, .keepToken, .responses, .errors),
        // The app has reached its limit of 10,000 channels. One must be deleted first.
        AnswerRule([.channelCreation], 400, "CannotCreateChannelConfig", .retry, .keep, .errors),
        AnswerRule(all, 500, "InternalServerError", .retry, .keep, .responses, .errors),
        AnswerRule(all, 503, "ServiceUnavailable", .retry, .keep, .responses, .errors),
        // Spelled as on Apple's page.
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

    /// Errors in the shared parts of a batch: the topic, the other header fields, the body.
    static let commonFaults: Set<String> = [
        "BadTopic", "MissingTopic", "BadCollapseId", "BadPriority", "DuplicateHeaders", "BadExpirationDate",
        "InvalidPushType", "PayloadEmpty", "PayloadTooLarge", "MissingProviderToken", "MethodNotAllowed",
    ]

    /// Every reason in the table. Unknown reasons are stored as text, but not used as metric labels.
    static let knownReasons = Set(table.map(\.reason))

    /// Interprets the `status` and `reason` of an answer to a request of `kind`.
    ///
    /// An answer without a known reason may come from a proxy or from a failing server. Then only its status counts,
    /// and the result is never final: no token is marked dead, and no request is given up.
    package static func judge(
        _ kind: APNSRequestKind,
        status: Int,
        reason: String?
    ) -> (verdict: PushOutcome.Word, advice: ConnectionAdvice) {
        if (200..<300).contains(status) {
            return (.accepted, .keep)
        }
        if let reason, let rule = rules[Key(kind: kind, status: status, reason: reason)] {
            return (rule.verdict, rule.advice)
        }
        return ([401, 403].contains(status) ? .credential : .retry, .keep)
    }
}
