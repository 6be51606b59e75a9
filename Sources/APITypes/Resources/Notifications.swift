package import ActivityModel
package import JSON

// The parts of an ordinary push come in Apple's shape.

extension PushPayload {
    /// Reads a body from the caller's two parts: `aps`, and an object of the app's own data.
    ///
    /// - Throws: 422 with all wrong fields, or with every rule of the push type that is broken. Pointers lead below
    ///   `/aps` and `/custom`.
    package init(_ pushType: PushType, aps: JSONValue?, custom: JSONObject) throws(Problem) {
        var context = FieldContext("aps", in: JSONPointer(), refusesUnknownFields: true)
        var content: NotificationContent? = NotificationContent()
        if let aps { content = FieldType<NotificationContent>.object(NotificationContent.self).read(aps, &context) }
        guard let content else { throw .invalidRequest(context.errors) }
        let errors = PayloadRules.errors(pushType, content, custom)
        guard errors.isEmpty else { throw .invalidRequest(errors) }
        self.init(pushType, content: content, custom: custom)
    }
}

// Unknown keys are refused. APNs would ignore them and answer 200, and the caller would never notice the mistake.
extension NotificationContent: APIRequest {
    package init?(reader: inout ObjectReader) {
        self.init()
        alert = reader.optional("alert", .notification)
        badge = reader.optional("badge", .whole(0...Int(Int32.max)))
        sound = reader.optional("sound", .sound)
        threadID = reader.optional("thread-id", .filled())
        category = reader.optional("category", .filled())
        isContentAvailable = reader.optional("content-available", .whole(0...1)) == 1
        isContentChanged = reader.optional("content-changed", .flag) == true
        isMutable = reader.optional("mutable-content", .whole(0...1)) == 1
        targetContentID = reader.optional("target-content-id", .filled())
        interruptionLevel = reader.optional("interruption-level", .choice(InterruptionLevel.self))
        relevanceScore = reader.optional("relevance-score", .number(0...1))
        filterCriteria = reader.optional("filter-criteria", .filled())
        guard reader.finish() else { return nil }
    }

    package var json: JSONValue { wire }
}

extension FieldType where Value == NotificationAlert {
    /// A string (the message), or an object with at least one text.
    fileprivate static var notification: Self {
        FieldType { value, context in
            if let text = value.string { return NotificationAlert(body: .plain(text)) }
            let read: NotificationAlert? = context.object(value) { reader in
                let alert = NotificationAlert(
                    title: NotificationAlert.Line.title.read(&reader),
                    subtitle: NotificationAlert.Line.subtitle.read(&reader),
                    body: NotificationAlert.Line.body.read(&reader),
                    launchImage: reader.optional("launch-image", .filled()),
                    actionKey: reader.optional("action-loc-key", .filled())
                )
                return reader.finish() ? alert : nil
            }
            guard let alert = read else { return nil }
            if alert.title != nil || alert.subtitle != nil || alert.body != nil { return alert }
            let message = "An alert needs a text: 'title', 'subtitle' or 'body', or one of their '…loc-key'."
            context.refuse(FieldError.missing, message)
            return nil
        } write: {
            $0.wire
        }
    }
}

extension NotificationAlert.Line {
    fileprivate func read(_ reader: inout ObjectReader) -> AlertText? {
        let text = reader.optional(plain, .filled())
        let localized = reader.optional(key, .filled())
        let values = reader.optional(arguments, .texts) ?? []
        if localized == nil, !values.isEmpty {
            reader.refuse(arguments, code: FieldError.invalidValue, message: "'\(arguments)' needs '\(key)'.")
        }
        if localized != nil, text != nil {
            let message = "'\(key)' stands instead of '\(plain)', not beside it."
            reader.refuse(key, code: FieldError.invalidValue, message: message)
        }
        return localized.map { .localized(key: $0, arguments: values) } ?? text.map { .plain($0) }
    }
}

extension FieldType where Value == NotificationSound {
    /// A string, or `{critical: 1, name, volume?}`.
    fileprivate static var sound: Self {
        FieldType { value, context in
            if let name = value.string, !name.isEmpty { return .named(name) }
            guard value.object != nil else {
                let message = "A text that is not empty, or {critical, name, volume}, is expected."
                context.refuse(FieldError.wrongType, message)
                return nil
            }
            return context.object(value) { reader in
                // 1 is the only valid value: a sound that is not critical is a string.
                _ = reader.required("critical", .whole(1...1))
                let name = reader.required("name", .filled())
                let volume = reader.optional("volume", .number(0...1))
                guard reader.finish(), let name else { return nil }
                return .critical(name: name, volume: volume)
            }
        } write: {
            $0.wire
        }
    }
}
