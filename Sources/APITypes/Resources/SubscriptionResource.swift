package import ActivityModel
package import JSON

/// A card as answers show it. Its token is masked; the first digits distinguish tokens.
package struct SubscriptionResource: Sendable, Hashable {
    package var deviceID: DeviceID
    package var mode: SubscriptionMode
    package var state: SubscriptionState
    /// Why the card is in this state, if known.
    package var reason: String?
    /// The newest revision that Tally knows to be sent to this card, or that its app reported.
    package var revision: Revision
    /// Masked. Nil if the app has not reported one, and for a card on a channel.
    package var updateToken: String?
    /// When the card was started, as far as Tally knows. Of one that has not begun: the last report.
    package var startedAt: Instant
    /// When the app last reported the card. Before the first report: when it was started.
    package var registeredAt: Instant
    /// When the card gets its missing push or its retry; nil unless the state is `due`.
    package var dueAt: Instant?
    /// When the app first reported the card as pending; nil: it has begun.
    package var pendingSince: Instant?
    /// The newest revision that the app saw on the card and told in a receipt; nil: it told none.
    package var shownRevision: Revision?
    /// When the card showed it at the latest.
    package var shownAt: Instant?

    package init(
        deviceID: DeviceID,
        mode: SubscriptionMode,
        state: SubscriptionState,
        reason: String? = nil,
        revision: Revision,
        updateToken: PushToken? = nil,
        startedAt: Instant,
        registeredAt: Instant,
        dueAt: Instant? = nil,
        pendingSince: Instant? = nil,
        shownRevision: Revision? = nil,
        shownAt: Instant? = nil
    ) {
        self.deviceID = deviceID
        self.mode = mode
        self.state = state
        self.reason = reason
        self.revision = revision
        self.updateToken = updateToken?.description
        self.startedAt = startedAt
        self.registeredAt = registeredAt
        self.dueAt = dueAt
        self.pendingSince = pendingSince
        self.shownRevision = shownRevision
        self.shownAt = shownAt
    }
}

extension SubscriptionResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let deviceID = reader.required("device_id", .deviceID)
        let mode = reader.required("mode", .word(SubscriptionMode.self))
        let state = reader.required("state", .word(SubscriptionState.self))
        let reason = reader.optional("reason", .string)
        let revision = reader.required("revision", .int64)
        let updateToken = reader.optional("update_token", .string)
        let startedAt = reader.required("started_at", .time)
        let registeredAt = reader.required("registered_at", .time)
        let dueAt = reader.optional("due_at", .time)
        let pendingSince = reader.optional("pending_since", .time)
        let shownRevision = reader.optional("shown_revision", .int64)
        let shownAt = reader.optional("shown_at", .time)
        guard reader.finish(), let deviceID, let mode, let state, let revision, let startedAt, let registeredAt else {
            return nil
        }
        self.init(
            deviceID: deviceID,
            mode: mode,
            state: state,
            reason: reason,
            revision: revision,
            startedAt: startedAt,
            registeredAt: registeredAt,
            dueAt: dueAt,
            pendingSince: pendingSince,
            shownRevision: shownRevision,
            shownAt: shownAt
        )
        self.updateToken = updateToken
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("device_id", deviceID.rawValue)
        fields.add("mode", mode.rawValue)
        fields.add("state", state.rawValue)
        fields.add("reason", reason)
        fields.add("revision", revision)
        fields.add("update_token", updateToken)
        fields.add("started_at", startedAt)
        fields.add("registered_at", registeredAt)
        fields.add("due_at", dueAt)
        fields.add("pending_since", pendingSince)
        fields.add("shown_revision", shownRevision)
        fields.add("shown_at", shownAt)
        return fields.json
    }
}
