package import APITypes
package import ActivityModel
package import JSON

/// An action of a person, of iOS or of the app, at one phone or many.
package struct PhoneAction: Sendable, Hashable {
    /// The kind of action. The raw values are the control API's words.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The person opens an activity in the app, and the app starts a card.
        case join
        /// iOS replaces the update tokens.
        case rotate
        /// iOS replaces the start tokens.
        case rotateStart = "rotate-start"
        /// The person swipes the app away in the app switcher.
        case forceQuit = "force-quit"
        /// The person opens the app, which reports everything again.
        case launch
        /// The person swipes the card away.
        case swipeAway = "swipe-away"
        /// The phone loses its connection to Apple. Apple keeps stored pushes for it.
        case goOffline = "offline"
        /// The phone connects again.
        case comeOnline = "online"
    }

    package var kind: Kind
    /// Selects phones by id. `prefix` selects them by the start of their ids.
    package var phones: [DeviceID]
    package var prefix: String?
    /// Required for join and swipe-away. On rotation, nil means every activity.
    package var activityID: ActivityID?
    /// For join: Apple's id of the channel to subscribe to; nil: the card gets an update token.
    package var channelID: String?
    /// For join: the activity type; nil: the phone's first type.
    package var type: ActivityTypeName?
    /// For join: the content that the app got from its own server and shows first.
    package var contentState: JSONValue?
    /// For join: the revision of that content, which the app reports; nil: it reports none.
    package var knownRevision: Revision?

    package init(_ kind: Kind, phones: [DeviceID] = [], prefix: String? = nil, activityID: ActivityID? = nil) {
        self.kind = kind
        self.phones = phones
        self.prefix = prefix
        self.activityID = activityID
    }

    /// Carries out the action at one phone.
    func perform(on phone: inout Phone, at now: ClockReading) -> [PhoneEffect] {
        switch kind {
        case .join:
            guard let activityID, let type = type ?? phone.profile.types.first else { return [] }
            return phone.join(
                activityID: activityID,
                type: type,
                channelID: channelID,
                contentState: contentState,
                knownRevision: knownRevision,
                at: now
            )
        case .rotate:
            return phone.rotateUpdateTokens(ofActivity: activityID, at: now)
        case .rotateStart:
            return phone.profile.types.flatMap { phone.rotateStartToken(ofType: $0, at: now) }
        case .forceQuit:
            phone.forceQuit()
            return []
        case .launch:
            return phone.launch(at: now)
        case .goOffline:
            phone.goOffline()
            return []
        case .comeOnline:
            return phone.comeOnline()
        case .swipeAway:
            return activityID.map { phone.swipeAway(activityID: $0, at: now) } ?? []
        }
    }
}

extension PhoneAction: APIRequest {
    package init?(reader: inout ObjectReader) {
        let kind = reader.required("action", .word(Kind.self))
        let phone = reader.optional("phone", .deviceID)
        let phones = reader.optional("phones", .list(of: .deviceID))
        let prefix = reader.optional("prefix", .string)
        let activityID = reader.optional("activity_id", .activityID)
        let mode = reader.optional("mode", .word(Mode.self))
        let channelID = reader.optional("channel_id", .string)
        let type = reader.optional("type", .typeName)
        let contentState = reader.optional("content_state", .any)
        let knownRevision = reader.optional("known_revision", .counter)
        if kind == .join || kind == .swipeAway, activityID == nil {
            reader.refuse("activity_id", code: FieldError.missing, message: "this action needs 'activity_id'")
        }
        if let mode, (mode == .channel) != (channelID != nil) {
            reader.refuse("mode", code: FieldError.conflict, message: "'channel_id' goes with the mode 'channel'")
        }
        guard reader.finish(), let kind else { return nil }
        self.init(
            kind,
            phones: (phone.map { [$0] } ?? []) + (phones ?? []),
            prefix: prefix,
            activityID: activityID
        )
        self.channelID = channelID
        self.type = type
        self.contentState = contentState
        self.knownRevision = knownRevision
    }

    private enum Mode: String, CaseIterable {
        case token
        case channel
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("action", kind.rawValue)
        if !phones.isEmpty { fields.add("phones", words: phones.map(\.rawValue)) }
        fields.add("prefix", prefix)
        fields.add("activity_id", activityID?.rawValue)
        fields.add("channel_id", channelID)
        fields.add("type", type?.rawValue)
        fields.add("content_state", contentState)
        fields.add("known_revision", knownRevision)
        return fields.json
    }
}
