package import ActivityModel
package import JSON

extension Policy: APIRequest {
    fileprivate static let duration = FieldType<Int>.whole(0...maximumDuration)
    fileprivate static let window = FieldType<Int>.whole(1...maximumDuration)
    fileprivate static let count = FieldType<Int>.whole(1...1_000_000)

    /// Reads a policy. Absent fields have their defaults.
    package init?(reader: inout ObjectReader) {
        self.init()
        staleAfterSeconds = reader.optional("stale_after_seconds", Self.duration)
        dismissAfterSeconds = reader.optional("dismiss_after_seconds", .whole(0...Self.maximumDismissal))
        startAlert = reader.optional("start_alert", .object(AlertContent.self))
        idAttribute = reader.optional("id_attribute", .filled("the name of an attribute"))
        revisionProperty = reader.optional("revision_property", .filled("the name of a property of the content state"))
        expiration = reader.optional("expiration_seconds", .object(Expiration.self)) ?? expiration
        budget = reader.optional("budget", .object(Budget.self)) ?? budget
        startBudget = reader.optional("start_budget", .object(StartBudget.self)) ?? startBudget
        startRetrySeconds = reader.optional("start_retry_seconds", Self.duration) ?? startRetrySeconds
        tokenWaitSeconds = reader.optional("token_wait_seconds", Self.duration) ?? tokenWaitSeconds
        wakeAfterSeconds = reader.optional("wake_after_seconds", Self.duration)
        // iOS ends a card after eight hours (``CardWatch/lifetimeSeconds``).
        continueAfterHours = reader.optional("continue_after_hours", .whole(1...7))
        fallbackAlert = reader.optional("fallback_alert", .flag) ?? fallbackAlert
        endWhenSilentSeconds = reader.optional("end_when_silent_seconds", Self.window)
        onUnfollow = reader.optional("on_unfollow", .choice(OnUnfollow.self)) ?? onUnfollow
        pendingUpdates = reader.optional("pending_updates", .choice(PendingUpdates.self)) ?? pendingUpdates
        channelStorage = reader.optional("channel_storage", .choice(ChannelStorage.self)) ?? channelStorage
        channelGraceSeconds = reader.optional("channel_grace_seconds", Self.duration)
        rules = reader.optional("rules", .rules) ?? rules
        guard reader.finish() else { return nil }
    }

    /// The whole policy with its defaults, in the order of the contract.
    package var json: JSONValue {
        [
            "stale_after_seconds": Self.json(staleAfterSeconds),
            "dismiss_after_seconds": Self.json(dismissAfterSeconds),
            "start_alert": startAlert?.json ?? .null,
            "id_attribute": idAttribute.map(JSONValue.string) ?? .null,
            "revision_property": revisionProperty.map(JSONValue.string) ?? .null,
            "expiration_seconds": expiration.json,
            "budget": budget.json,
            "start_budget": startBudget.json,
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

    fileprivate static func json(_ value: Int?) -> JSONValue { value.map { .number(JSONNumber($0)) } ?? .null }
}

extension Policy.Expiration: APIRequest {
    package init?(reader: inout ObjectReader) {
        self.init()
        start = reader.optional("start", Policy.duration) ?? start
        update = reader.optional("update", Policy.duration) ?? update
        end = reader.optional("end", Policy.duration) ?? end
        guard reader.finish() else { return nil }
    }

    package var json: JSONValue {
        ["start": Policy.json(start), "update": Policy.json(update), "end": Policy.json(end)]
    }
}

extension Policy.Budget: APIRequest {
    package init?(reader: inout ObjectReader) {
        self.init()
        ordinary = reader.optional("ordinary", Policy.count) ?? ordinary
        frequent = reader.optional("frequent", Policy.count) ?? frequent
        windowSeconds = reader.optional("window_seconds", Policy.window) ?? windowSeconds
        reserve = reader.optional("reserve", .whole(0...1_000_000)) ?? reserve
        guard reader.finish() else { return nil }
    }

    package var json: JSONValue {
        [
            "ordinary": Policy.json(ordinary), "frequent": Policy.json(frequent),
            "window_seconds": Policy.json(windowSeconds), "reserve": Policy.json(reserve),
        ]
    }
}

extension Policy.StartBudget: APIRequest {
    package init?(reader: inout ObjectReader) {
        self.init()
        count = reader.optional("count", Policy.count) ?? count
        windowSeconds = reader.optional("window_seconds", Policy.window) ?? windowSeconds
        guard reader.finish() else { return nil }
    }

    package var json: JSONValue {
        ["count": Policy.json(count), "window_seconds": Policy.json(windowSeconds)]
    }
}

extension PolicyRule: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("changed", \.changed, .changed),
        .optional("urgency", \.urgency, .choice(Urgency.self), else: Urgency.routine),
        .optional("must_deliver", \.mustDeliver, .flag, unless: false),
        .optional("min_interval_seconds", \.minimumIntervalSeconds, .whole(0...Policy.maximumDuration)),
        rule: { reader in
            let urgency = reader.peek("urgency", .choice(Urgency.self)) ?? Urgency.routine
            let interval = reader.peek("min_interval_seconds", .whole(0...Policy.maximumDuration))
            guard interval != nil, urgency != .routine else { return }
            let message =
                "'min_interval_seconds' holds back routine changes only; this rule makes them \(urgency.rawValue)."
            reader.refuse("min_interval_seconds", code: FieldError.invalidValue, message: message)
        },
        make: Self.init
    )
}

extension FieldType where Value == [PolicyRule] {
    fileprivate static var rules: Self {
        FieldType { value, context in
            guard let count = value.array?.count else {
                context.refuse(FieldError.wrongType, mustBe: "an array")
                return nil
            }
            guard count <= Policy.maximumRules else {
                context.refuse(FieldError.outOfRange, "'rules' may have at most \(Policy.maximumRules) items.")
                return nil
            }
            return FieldType<[PolicyRule]>.list(of: .object(PolicyRule.self)).read(value, &context)
        } write: {
            .array($0.map(\.json))
        }
    }
}

extension FieldType where Value == JSONPointer {
    /// The part of the content state that a rule watches.
    fileprivate static var changed: Self {
        FieldType { value, context in
            if let pointer = value.string.flatMap({ JSONPointer($0) }) { return pointer }
            let code = value.string == nil ? FieldError.wrongType : FieldError.invalidValue
            context.refuse(code, mustBe: "a JSON pointer, such as \"/home_score\"")
            return nil
        } write: {
            .string($0.description)
        }
    }
}
