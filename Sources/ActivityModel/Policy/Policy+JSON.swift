package import JSON

extension Policy {
    /// The maximum number of rules. Each rule costs a comparison at every accept.
    package static let maximumRules = 64

    private static let duration = 0...maximumDuration
    private static let count = 1...1_000_000
    /// In hours. iOS ends a card after eight (``CardWatch/lifetimeSeconds``).
    private static let continuation = 1...7

    /// Reads a policy. Reports all errors; an unknown field is one.
    package init(json: JSONValue) throws(PolicyError) {
        self.init()
        var reader = FieldReader(json)
        staleAfterSeconds = reader.optionalInteger("stale_after_seconds", in: Self.duration)
        dismissAfterSeconds = reader.optionalInteger("dismiss_after_seconds", in: 0...Self.maximumDismissal)
        readStartAlert(&reader)
        idAttribute = Self.name("id_attribute", of: "an attribute", &reader)
        revisionProperty = Self.name("revision_property", of: "a property of the content state", &reader)
        readExpiration(&reader)
        readBudgets(&reader)
        startRetrySeconds = reader.integer("start_retry_seconds", in: Self.duration, default: startRetrySeconds)
        tokenWaitSeconds = reader.integer("token_wait_seconds", in: Self.duration, default: tokenWaitSeconds)
        wakeAfterSeconds = reader.optionalInteger("wake_after_seconds", in: Self.duration)
        continueAfterHours = reader.optionalInteger("continue_after_hours", in: Self.continuation)
        fallbackAlert = reader.flag("fallback_alert")
        endWhenSilentSeconds = reader.optionalInteger("end_when_silent_seconds", in: 1...Self.maximumDuration)
        onUnfollow = reader.choice("on_unfollow", default: onUnfollow)
        pendingUpdates = reader.choice("pending_updates", default: pendingUpdates)
        channelStorage = reader.choice("channel_storage", default: channelStorage)
        channelGraceSeconds = reader.optionalInteger("channel_grace_seconds", in: Self.duration)
        readRules(&reader)
        try reader.finish()
    }

    private mutating func readStartAlert(_ reader: inout FieldReader) {
        guard let value = reader.value("start_alert") else { return }
        do {
            startAlert = try AlertContent(json: value, at: JSONPointer(tokens: ["start_alert"]))
        } catch {
            reader.adopt(error)
        }
    }

    private static func name(_ field: String, of what: String, _ reader: inout FieldReader) -> String? {
        guard let value = reader.value(field) else { return nil }
        if let name = value.string, !name.isEmpty { return name }
        reader.report(field, .wrongType, "'\(field)' must be the name of \(what).")
        return nil
    }

    private mutating func readExpiration(_ reader: inout FieldReader) {
        guard var part = reader.nested("expiration_seconds") else { return }
        expiration.start = part.integer("start", in: Self.duration, default: expiration.start)
        expiration.update = part.integer("update", in: Self.duration, default: expiration.update)
        expiration.end = part.integer("end", in: Self.duration, default: expiration.end)
        Self.finish(&part, into: &reader)
    }

    private mutating func readBudgets(_ reader: inout FieldReader) {
        if var part = reader.nested("budget") {
            budget.ordinary = part.integer("ordinary", in: Self.count, default: budget.ordinary)
            budget.frequent = part.integer("frequent", in: Self.count, default: budget.frequent)
            budget.windowSeconds = part.integer(
                "window_seconds",
                in: 1...Self.maximumDuration,
                default: budget.windowSeconds
            )
            budget.reserve = part.integer("reserve", in: 0...Self.count.upperBound, default: budget.reserve)
            Self.finish(&part, into: &reader)
        }
        if var part = reader.nested("start_budget") {
            startBudget.count = part.integer("count", in: Self.count, default: startBudget.count)
            startBudget.windowSeconds = part.integer(
                "window_seconds",
                in: 1...Self.maximumDuration,
                default: startBudget.windowSeconds
            )
            Self.finish(&part, into: &reader)
        }
    }

    private mutating func readRules(_ reader: inout FieldReader) {
        guard let value = reader.value("rules") else { return }
        guard let items = value.array else { return reader.report("rules", .wrongType, "'rules' must be an array.") }
        guard items.count <= Self.maximumRules else {
            return reader.report("rules", .outOfRange, "'rules' may have at most \(Self.maximumRules) items.")
        }
        for (index, item) in items.enumerated() {
            do {
                rules.append(try PolicyRule(json: item, at: JSONPointer(tokens: ["rules", String(index)])))
            } catch {
                reader.adopt(error)
            }
        }
    }

    private static func finish(_ part: inout FieldReader, into reader: inout FieldReader) {
        do {
            try part.finish()
        } catch {
            reader.adopt(error)
        }
    }

    /// The whole policy with its defaults, in the order of the contract.
    package var json: JSONValue {
        [
            "stale_after_seconds": Self.json(staleAfterSeconds),
            "dismiss_after_seconds": Self.json(dismissAfterSeconds),
            "start_alert": startAlert?.json ?? .null,
            "id_attribute": idAttribute.map(JSONValue.string) ?? .null,
            "revision_property": revisionProperty.map(JSONValue.string) ?? .null,
            "expiration_seconds": [
                "start": Self.json(expiration.start), "update": Self.json(expiration.update),
                "end": Self.json(expiration.end),
            ],
            "budget": [
                "ordinary": Self.json(budget.ordinary), "frequent": Self.json(budget.frequent),
                "window_seconds": Self.json(budget.windowSeconds), "reserve": Self.json(budget.reserve),
            ],
            "start_budget": [
                "count": Self.json(startBudget.count), "window_seconds": Self.json(startBudget.windowSeconds),
            ],
            "start_retry_seconds": Self.json(startRetrySeconds),
            "token_wait_seconds": Self.json(tokenWaitSeconds),
            "wake_after_seconds": Self.json(wakeAfterSeconds),
            "continue_after_hours": Self.json(continueAfterHours),
            "fallback_alert": .bool(fallbackAlert),
            "end_when_silent_seconds": Self.json(endWhenSilentSeconds),
            "on_unfollow": .string(onUnfollow.rawValue),
            "pending_updates": .string(pendingUpdates.rawValue),
            "channel_storage": .string(channelStorage.rawValue),
            "channel_grace_seconds": Self.json(channelGraceSeconds),
            "rules": .array(rules.map(\.json)),
        ]
    }

    private static func json(_ value: Int?) -> JSONValue { value.map { .number(JSONNumber($0)) } ?? .null }
}
