package import JSON

/// The payload of a push as a phone reads it. One object serves all phones that got the same bytes.
package final class PushBody: Sendable {
    /// The `event` of a Live Activity push.
    package enum Event: String, Sendable, Hashable, CaseIterable {
        case start
        case update
        case end
    }

    /// What a start asks the phone to take further updates from.
    package enum Input: Sendable, Hashable {
        /// Neither key: the payload for devices before iOS 18, which hand out a token.
        case unspecified
        case token
        case channel(String)
        /// Both keys. An activity has exactly one push type.
        case contradictory
    }

    package let event: Event?
    /// UNIX seconds.
    package let timestamp: Int64?
    package let contentState: JSONValue?
    package let attributesType: String?
    package let attributes: JSONValue?
    package let input: Input
    /// True if there is an alert with a title and a body.
    package let hasAlert: Bool
    /// UNIX seconds.
    package let staleDate: Int64?
    /// UNIX seconds.
    package let dismissalDate: Int64?
    /// Serialised bytes, which count against what the phone holds.
    package let attributesByteCount: Int
    package let contentStateByteCount: Int
    /// Why no phone can make sense of the payload at all.
    package let fault: String?
    /// Why the content state does not decode, by the name of the known type that it was tried on.
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

    /// Why the content state does not decode on a phone, or nil if it does.
    package func contentStateFault(asTypeNamed name: String) -> String? {
        if let fault = contentStateFaults[name] { return fault }
        return contentState?.object == nil ? "there is no content-state object" : nil
    }

    /// Why the attributes of a start do not decode on a phone, or nil if they do.
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
