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
    /// Masked. Nil if the app has not reported one, and for a card on a channel.
    package var updateToken: String?
    /// When the card was started, as far as Tally knows.
    package var startedAt: Instant
    /// When the app last reported the card. Before the first report: when it was started.
    package var registeredAt: Instant
    /// When the card gets its missing push or its retry; nil unless the state is `due`.
    package var dueAt: Instant?

    package init(
        deviceID: DeviceID,
        mode: SubscriptionMode,
        state: SubscriptionState,
        reason: String? = nil,
        revision: Revision,
        updateToken: PushToken? = nil,
        startedAt: Instant,
        registeredAt: Instant,
        dueAt: Instant? = nil
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
    }
}

extension SubscriptionResource: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(deviceID: $0, mode: $1, state: $2, revision: $3, startedAt: $4, registeredAt: $5)
    }) {
        required("device_id", .deviceID, \.deviceID)
        required("mode", .word(SubscriptionMode.self), \.mode)
        required("state", .word(SubscriptionState.self), \.state)
        optional("reason", .string, \.reason)
        required("revision", .int64, \.revision)
        optional("update_token", .string, \.updateToken)
        required("started_at", .time, \.startedAt)
        required("registered_at", .time, \.registeredAt)
        optional("due_at", .time, \.dueAt)
    }
}
