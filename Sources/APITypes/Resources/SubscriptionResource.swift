package import ActivityModel
import JSON

/// A card as answers show it. Its token is masked; the first digits distinguish tokens.
package struct SubscriptionResource: Sendable, Hashable {
    package var deviceID: DeviceID
    package var mode: SubscriptionMode
    package var state: SubscriptionState
    /// Why the card is in this state, if known.
    package var reason: String?
    /// The newest revision that Tally knows to be sent to this card, or that its app reported.
    package var revision: Revision
    /// Masked: `PushToken.description`. Nil if the app has not reported one, and for a card on a channel.
    package var updateToken: String?
    /// When the card was started, as far as Tally knows. For a card that has not begun: when it was last reported.
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
        updateToken: String? = nil,
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
        self.updateToken = updateToken
        self.startedAt = startedAt
        self.registeredAt = registeredAt
        self.dueAt = dueAt
        self.pendingSince = pendingSince
        self.shownRevision = shownRevision
        self.shownAt = shownAt
    }
}

extension SubscriptionResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("device_id", \.deviceID, .deviceID),
        .required("mode", \.mode, .word(SubscriptionMode.self)),
        .required("state", \.state, .word(SubscriptionState.self)),
        .optional("reason", \.reason, .string),
        .required("revision", \.revision, .int64),
        .optional("update_token", \.updateToken, .string),
        .required("started_at", \.startedAt, .time),
        .required("registered_at", \.registeredAt, .time),
        .optional("due_at", \.dueAt, .time),
        .optional("pending_since", \.pendingSince, .time),
        .optional("shown_revision", \.shownRevision, .int64),
        .optional("shown_at", \.shownAt, .time),
        make: Self.init
    )
}
