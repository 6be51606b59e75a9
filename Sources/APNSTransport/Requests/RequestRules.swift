internal import ActivityModel
internal import HTTP2Engine

/// Apple's rules for requests, checked before anything is sent.
///
/// Each refusal is the outcome of Apple's own answer, with Apple's reason but without a status. Its detail names the
/// header field or the size. Sources: Apple, "Sending notification requests to APNs" and "Sending broadcast push
/// notification requests to APNs".
enum RequestRules {
    /// The body must not be empty and must fit its limit, in the bytes that are sent.
    static func body(_ count: Int, _ limit: SizeLimit) -> PushOutcome? {
        guard count > 0 else {
            return refused("PayloadEmpty", "the body is empty")
        }
        return limit.excess(count).map {
            refused("PayloadTooLarge", "the body has \($0.bytes) bytes, \($0.limit.bytes) are allowed")
        }
    }

    /// The push type must allow the priority.
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

    /// UNIX seconds or 0; on a channel that stores nothing only 0.
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

    /// The id must have 1 to 64 bytes.
    static func collapseID(_ id: String?) -> PushOutcome? {
        guard let count = id?.utf8.count, !(1...PushHeaders.maximumCollapseIDBytes).contains(count) else {
            return nil
        }
        return refused(
            "BadCollapseId",
            "apns-collapse-id has \(count) bytes, 1 to \(PushHeaders.maximumCollapseIDBytes) are allowed"
        )
    }

    /// One id may identify only one request.
    static func requestID(_ id: APNSRequestID?, requests: Int) -> PushOutcome? {
        guard id != nil, requests > 1 else {
            return nil
        }
        return refused("BadMessageId", "apns-id names one push, and there are \(requests)")
    }

    /// The app must be a valid bundle id, so it is one path component. No field may contain control characters or begin
    /// or end with a blank. So a manipulated database row cannot redirect a request.
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

    /// Apple's reason for an invalid value of a field that can contain outside text.
    private static let reasons = [
        "apns-topic": "BadTopic", "apns-collapse-id": "BadCollapseId", "apns-channel-id": "BadChannelId",
        "apns-id": "BadMessageId", "apns-request-id": "BadMessageId",
    ]

    private static func refused(_ reason: String?, _ detail: String) -> PushOutcome {
        PushOutcome(.requestInvalid, reason: reason, detail: detail)
    }
}
