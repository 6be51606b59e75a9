package import JSON

/// Renders the body of a Live Activity push, always in the same key order (Apple, ActivityKit pushes).
///
/// The bytes depend on the arguments only, so a retry under the same stamp carries the same bytes (promise 3).
package enum LiveActivityBody {
    /// How Tally reaches a phone after its start. Both keys need iOS 18.
    package enum InputPush: Sendable, Hashable {
        /// Neither key: for devices before iOS 18 or of unknown version.
        case none
        /// The phone issues an update token.
        case token
        /// The phone subscribes to a channel.
        case channel(APNSChannelID)
    }

    /// The values that starts, updates and ends share.
    package struct Content: Sendable, Hashable {
        /// The state to show.
        package var contentState: CompactJSON
        /// The alert. Without one a start shows nothing (Apple, ActivityKit pushes).
        package var alert: AlertContent?
        /// An end omits them.
        package var hints: CardHints

        /// Creates a content from its parts.
        package init(contentState: CompactJSON, alert: AlertContent? = nil, hints: CardHints = CardHints()) {
            self.contentState = contentState
            self.alert = alert
            self.hints = hints
        }
    }

    /// Renders a start.
    package static func start(
        _ type: ActivityTypeName,
        attributes: CompactJSON,
        content: Content,
        timestamp: Timestamp,
        inputPush: InputPush
    ) -> [UInt8] {
        var body = PushBodyWriter(.start, timestamp: timestamp)
        body.add("content-state", content.contentState)
        body.add("attributes-type", .string(type.rawValue))
        body.add("attributes", attributes)
        body.add(content, timestamp: timestamp)
        switch inputPush {
        case .none: break
        case .token: body.add("input-push-token", 1)
        case .channel(let channel): body.add("input-push-channel", .string(channel.rawValue))
        }
        return body.finish()
    }

    /// Renders an update.
    package static func update(_ content: Content, timestamp: Timestamp) -> [UInt8] {
        var body = PushBodyWriter(.update, timestamp: timestamp)
        body.add("content-state", content.contentState)
        body.add(content, timestamp: timestamp)
        return body.finish()
    }

    /// Renders an end. Its state stays on the card until dismissal; without one, the card does not change.
    package static func end(
        contentState: CompactJSON?,
        alert: AlertContent?,
        dismissal: Dismissal,
        timestamp: Timestamp
    ) -> [UInt8] {
        var body = PushBodyWriter(.end, timestamp: timestamp)
        if let contentState { body.add("content-state", contentState) }
        if let alert { body.add("alert", alert.wire) }
        if let date = dismissal.date(stampedAt: timestamp) { body.add("dismissal-date", .number(JSONNumber(date))) }
        return body.finish()
    }
}

/// What a push tells the phone about a card beside its state and its alert.
package struct CardHints: Sendable, Hashable {
    /// The state becomes stale this many seconds after the stamp.
    package var staleAfterSeconds: Int?
    /// Weight among the activities of the app.
    package var relevanceScore: JSONNumber?

    /// Creates hints; by default none.
    package init(staleAfterSeconds: Int? = nil, relevanceScore: JSONNumber? = nil) {
        self.staleAfterSeconds = staleAfterSeconds
        self.relevanceScore = relevanceScore
    }

    /// An upper bound of their bytes, without keys and dates.
    var bound: Int { relevanceScore?.digits.utf8.count ?? 0 }
}

/// Writes `{"aps":{…}}` member by member.
private struct PushBodyWriter {
    private var bytes: [UInt8] = []

    init(_ event: ChangeKind, timestamp: Timestamp) {
        bytes.reserveCapacity(1024)
        bytes.append("{\"aps\":{\"timestamp\":")
        bytes.append(contentsOf: String(timestamp).utf8)
        bytes.append(",\"event\":\"")
        bytes.append(contentsOf: event.rawValue.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ key: StaticString, _ value: JSONValue) {
        addKey(key)
        value.write(to: &bytes)
    }

    mutating func add(_ key: StaticString, _ value: CompactJSON) {
        addKey(key)
        bytes.append(contentsOf: value.bytes)
    }

    mutating func add(_ content: LiveActivityBody.Content, timestamp: Timestamp) {
        if let alert = content.alert { add("alert", alert.wire) }
        if let seconds = content.hints.staleAfterSeconds {
            add("stale-date", .number(JSONNumber(timestamp + Int64(seconds))))
        }
        if let score = content.hints.relevanceScore { add("relevance-score", .number(score)) }
    }

    private mutating func addKey(_ key: StaticString) {
        bytes.append(",\"")
        bytes.append(key)
        bytes.append("\":")
    }

    consuming func finish() -> [UInt8] {
        bytes.append("}}")
        return bytes
    }
}

extension [UInt8] {
    /// Appends constant text as one slice.
    fileprivate mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }
}
