package import JSON

/// The payload of a push, parsed as a phone parses it. All phones that get the same bytes share one object.
package final class PushBody: Sendable {
    /// The `event` of a Live Activity push.
    package enum Event: String, Sendable, Hashable, CaseIterable {
        case start
        case update
        case end
    }

    /// The source that a start names for further updates.
    package enum Input: Sendable, Hashable {
        /// Neither key. This is the payload for devices before iOS 18; they provide a token.
        case unspecified
        case token
        case channel(String)
        /// Both keys. Invalid, because an activity has exactly one push type.
        case contradictory
    }

    package let event: Event?
    /// In UNIX seconds.
    package let timestamp: Int64?
    package let contentState: JSONValue?
    package let attributesType: String?
    package let attributes: JSONValue?
    package let input: Input
    /// Whether there is an alert with a title and a body.
    package let hasAlert: Bool
    /// In UNIX seconds.
    package let staleDate: Int64?
    /// In UNIX seconds.
    package let dismissalDate: Int64?
    /// The size of the serialised attributes in bytes. It counts towards the phone's limit.
    package let attributesByteCount: Int
    package let contentStateByteCount: Int
    /// Why no phone can read the payload.
    package let fault: String?
    /// Why the content state does not decode, by the name of the known type.
    private let contentStateFaults: [String: String]
    private let attributesFault: String?

    package init(bytes: [UInt8], types: [String: KnownType]) {
        let payload: JSONValue?
        var fault: String?
        do {
            payload = try JSONValue.parse(bytes)
        } catch {
            payload = nil
            fault = "the payload is no JSON"
        }
        let aps = payload?.object?["aps"]?.object
        event = aps?["event"]?.string.flatMap(Event.init)
        timestamp = aps?["timestamp"]?.int64
        contentState = aps?["content-state"]
        attributesType = aps?["attributes-type"]?.string
        attributes = aps?["attributes"]
        input = Input(aps)
        let alert = aps?["alert"]?.object
        hasAlert = alert?["title"] != nil && alert?["body"] != nil
        staleDate = aps?["stale-date"]?.int64
        dismissalDate = aps?["dismissal-date"]?.int64
        attributesByteCount = attributes?.serialized().count ?? 0
        contentStateByteCount = contentState?.serialized().count ?? 0
        if fault == nil {
            fault =
                if aps == nil { "there is no aps object" } else if event == nil {
                    "there is no event that iOS knows"
                } else if timestamp == nil { "there is no timestamp in whole seconds" } else { nil }
        }
        self.fault = fault
        let state = contentState
        contentStateFaults = types.compactMapValues { type in
            state.map { type.contentStateFault($0) } ?? "there is no content-state"
        }
        let fields = attributes
        attributesFault = attributesType.flatMap { types[$0] }.flatMap { type in
            fields.map { type.attributesFault($0) } ?? "there are no attributes"
        }
    }

    /// Why the content state does not decode on a phone; nil if it does.
    package func contentStateFault(asTypeNamed name: String) -> String? {
        if let fault = contentStateFaults[name] { return fault }
        return contentState?.object == nil ? "there is no content-state object" : nil
    }

    /// Why the attributes of a start do not decode on a phone; nil if they do.
    package var attributesDecodingFault: String? {
        if let attributesFault { return attributesFault }
        return attributes?.object == nil ? "there is no attributes object" : nil
    }
}

extension PushBody.Input {
    fileprivate init(_ aps: JSONObject?) {
        let wantsToken = aps?["input-push-token"]?.int64 == 1
        switch (wantsToken, aps?["input-push-channel"]?.string) {
        case (false, nil): self = .unspecified
        case (true, nil): self = .token
        case (false, let channel?): self = .channel(channel)
        case (true, .some): self = .contradictory
        }
    }
}
