internal import ActivityModel
internal import HTTP2Engine

/// Apple's rules for requests, kept before anything is sent.
///
/// Each refusal is the outcome that Apple's answer would have been, in Apple's words, without a status; its detail
/// names the header field or the size. Sources: Apple, "Sending notification requests to APNs" and "Sending broadcast
/// push notification requests to APNs".
enum RequestRules {
    /// A body is not empty and within its limit, counted in the bytes that are sent.
    static func body(_ count: Int, _ limit: SizeLimit) -> PushOutcome? {
        guard count > 0 else {
            return refused("PayloadEmpty", "the body is empty")
        }
        return limit.excess(count).map {
            refused("PayloadTooLarge", "the body has \($0.bytes) bytes, \($0.limit.bytes) are allowed")
        }
    }

    /// The push type has its own priorities.
    static func priority(_ priority: PushPriority, of type: PushType) -> PushOutcome? {
        guard !type.priorities.contains(priority) else {
            return nil
        }
        let allowed = type.priorities.map(\.rawValue).sorted().map(String.init).joined(separator: " or ")
        return refused(
            "BadPriority",
            "apns-priority of a push of type \(type.rawValue) is \(allowed), not \(priority.rawValue)"
        )
    }

    /// UNIX seconds, or 0; only 0 on a channel that stores nothing.
    static func expiration(_ expiration: Int64?, storage: ChannelStorage? = nil) -> PushOutcome? {
        guard let expiration, expiration != 0 else {
            return nil
        }
        if expiration < 0 {
            return refused("BadExpirationDate", "apns-expiration is before 1970")
        }
        if storage == ChannelStorage.none {
            return refused("BadExpirationDate", "apns-expiration must be 0 on a channel that stores nothing")
        }
        return nil
    }

    /// 1 to 64 bytes.
    static func collapseID(_ id: String?) -> PushOutcome? {
        guard let count = id?.utf8.count, !(1...PushHeaders.maximumCollapseIDBytes).contains(count) else {
            return nil
        }
        return refused(
            "BadCollapseId",
            "apns-collapse-id has \(count) bytes, 1 to \(PushHeaders.maximumCollapseIDBytes) are allowed"
        )
    }

    /// One id names one request.
    static func requestID(_ id: APNSRequestID?, requests: Int) -> PushOutcome? {
        guard id != nil, requests > 1 else {
            return nil
        }
        return refused("BadMessageId", "apns-id names one push, and there are \(requests)")
    }

    /// The app is a bundle id, which is a step of its own in a path, and no field has control characters, or blanks at
    /// its ends: a row of the database that somebody else wrote leads to no other place than its own.
    static func head(_ head: RequestHead) -> PushOutcome? {
        guard BundleID.accepts(head.app.rawValue) else {
            return refused("BadTopic", "the app is not named by a bundle id")
        }
        for field in head.fields {
            do {
                try HeaderRules.check(field)
            } catch {
                return refused(reasons[field.name], error.detail)
            }
        }
        return nil
    }

    /// What Apple calls a wrong value of a field whose text is not ours alone.
    private static let reasons = [
        "apns-topic": "BadTopic", "apns-collapse-id": "BadCollapseId", "apns-channel-id": "BadChannelId",
        "apns-id": "BadMessageId", "apns-request-id": "BadMessageId",
    ]

    private static func refused(_ reason: String?, _ detail: String) -> PushOutcome {
        PushOutcome(.requestInvalid, reason: reason, detail: detail)
    }
}
