package import APITypes
package import ActivityModel
package import JSON

/// Something that a person, iOS or the app does, at one phone or at many.
package struct PhoneAction: Sendable, Hashable {
    /// What is done; the raw values are the words of the control API.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Open an activity in the app, which starts a card by itself.
        case join
        /// iOS changes the update tokens.
        case rotate
        /// iOS changes the start tokens.
        case rotateStart = "rotate-start"
        /// Swipe the app away in the switcher.
        case forceQuit = "force-quit"
        /// Open the app: it reports everything anew.
        case launch
        /// Swipe the card away.
        case swipeAway = "swipe-away"
        /// Lose the connection to Apple; what Apple stores waits.
        case goOffline = "offline"
        /// Be connected again.
        case comeOnline = "online"
    }

    package var kind: Kind
    /// Phones by id, and by what their ids begin with.
    package var phones: [DeviceID]
    package var prefix: String?
    /// Needed to join and to swipe away; nil on rotation: every activity.
    package var activityID: ActivityID?
    /// On join: Apple's id of the channel to subscribe to; nil: an update token.
    package var channelID: String?
    /// On join: nil for the first type of the phone.
    package var type: ActivityTypeName?
    /// On join: what the app got from its own server and shows at first.
    package var contentState: JSONValue?
    /// On join: the revision of that content, which the app reports; nil: nothing is reported.
    package var knownRevision: Revision?

    package init(_ kind: Kind, phones: [DeviceID] = [], prefix: String? = nil, activityID: ActivityID? = nil) {
        self.kind = kind
        self.phones = phones
        self.prefix = prefix
        self.activityID = activityID
    }

    /// Lets it happen at one phone.
    func perform(on phone: inout Phone, at now: Moment) -> [PhoneEffect] {
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
