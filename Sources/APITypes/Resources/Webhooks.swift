package import ActivityModel
import JSON

/// `PUT …/webhooks/{id}`: an address that Tally tells of events.
package struct WebhookRequest: Sendable, Hashable {
    /// How many events one request may carry.
    package static let batchSizes = 1...1_000
    /// How many an ordinary one carries: about 30 KB.
    package static let usualBatchSize = 100
    /// The longest URL.
    package static let longestURL = 2_048

    package var url: String
    /// The kinds of events; nil: all.
    package var events: [String]?
    /// `whsec_` and the base64 of 24 to 64 bytes; nil: the present one stays, and a new webhook gets one.
    package var secret: String?
    package var isPaused: Bool
    package var maxEvents: Int

    package init(
        url: String,
        events: [String]? = nil,
        secret: String? = nil,
        isPaused: Bool = false,
        maxEvents: Int = Self.usualBatchSize
    ) {
        self.url = url
        self.events = events
        self.secret = secret
        self.isPaused = isPaused
        self.maxEvents = maxEvents
    }
}

extension WebhookRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("url", \.url, .string(length: 1...longestURL)),
        .optional("events", \.events, .list(of: .string)),
        .optional("secret", \.secret, .string),
        .optional("paused", \.isPaused, .bool, unless: false),
        .optional("max_events", \.maxEvents, .int.within(batchSizes), unless: usualBatchSize),
        make: Self.init
    )
}

/// `POST …/webhooks/{id}/replay`: events are delivered again.
package struct WebhookReplayRequest: Sendable, Hashable {
    package var since: Instant

    package init(since: Instant) {
        self.since = since
    }
}

extension WebhookReplayRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(.required("since", \.since, .time), make: Self.init)
}

/// Why a webhook is paused.
package enum WebhookPause: String, Sendable, Hashable, CaseIterable {
    /// An operator has paused it.
    case operatorAsked = "operator"
    /// Its address has accepted nothing for 24 hours.
    case unreachable
    /// Its address has answered 410.
    case gone
}

/// A webhook as answers show it.
package struct WebhookResource: Sendable, Hashable {
    package var id: WebhookID
    package var url: String
    /// Nil: all kinds.
    package var events: [String]?
    package var maxEvents: Int
    package var pausedBecause: WebhookPause?
    package var createdAt: Instant
    /// When an answer was last a success.
    package var deliveredAt: Instant?
    /// Since when every request has failed.
    package var failingSince: Instant?
    /// What the last failure was.
    package var lastError: String?
    package var nextTryAt: Instant?
    /// Only the answer to the request that let Tally make it has it.
    package var secret: String?

    package init(
        id: WebhookID,
        url: String,
        events: [String]? = nil,
        maxEvents: Int,
        pausedBecause: WebhookPause? = nil,
        createdAt: Instant,
        deliveredAt: Instant? = nil,
        failingSince: Instant? = nil,
        lastError: String? = nil,
        nextTryAt: Instant? = nil,
        secret: String? = nil
    ) {
        self.id = id
        self.url = url
        self.events = events
        self.maxEvents = maxEvents
        self.pausedBecause = pausedBecause
        self.createdAt = createdAt
        self.deliveredAt = deliveredAt
        self.failingSince = failingSince
        self.lastError = lastError
        self.nextTryAt = nextTryAt
        self.secret = secret
    }
}

extension WebhookResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .webhookID),
        .required("url", \.url, .string),
        .optional("events", \.events, .list(of: .string)),
        .required("max_events", \.maxEvents, .int),
        .optional("paused_because", \.pausedBecause, .word(WebhookPause.self)),
        .required("created_at", \.createdAt, .time),
        .optional("delivered_at", \.deliveredAt, .time),
        .optional("failing_since", \.failingSince, .time),
        .optional("last_error", \.lastError, .string),
        .optional("next_try_at", \.nextTryAt, .time),
        .optional("secret", \.secret, .string),
        make: Self.init
    )
}
