/// The request header fields that the rules use, parsed once per request.
///
/// Other fields are ignored, as Apple ignores `content-type`.
package struct RequestHeaders: Sendable, Hashable {
    package var authorization: String?
    package var topic: String?
    package var pushType: String?
    package var priority: String?
    package var expiration: String?
    package var collapseID: String?
    package var messageID: String?
    package var channelID: String?
    package var requestID: String?
    /// Whether a field that is allowed once came again.
    package private(set) var hasDuplicates = false

    package init() {}

    /// Reads one field. The name is in lower case, as HTTP/2 requires.
    package mutating func add(name: String, value: String) {
        switch name {
        case "authorization": set(\.authorization, value)
        case "apns-topic": set(\.topic, value)
        case "apns-push-type": set(\.pushType, value)
        case "apns-priority": set(\.priority, value)
        case "apns-expiration": set(\.expiration, value)
        case "apns-collapse-id": set(\.collapseID, value)
        case "apns-id": set(\.messageID, value)
        case "apns-channel-id": set(\.channelID, value)
        case "apns-request-id": set(\.requestID, value)
        default: break
        }
    }

    private mutating func set(_ field: WritableKeyPath<RequestHeaders, String?>, _ value: String) {
        if self[keyPath: field] != nil {
            hasDuplicates = true
        }
        self[keyPath: field] = value
    }
}
