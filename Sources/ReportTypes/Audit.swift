package import APITypes
package import ActivityModel
package import JSON

/// The operator actions that the audit log records.
package enum AuditAction: String, Sendable, Hashable, CaseIterable {
    case appChanged = "app_changed"
    case appDeleted = "app_deleted"
    case apiKeyCreated = "api_key_created"
    case apiKeyRevoked = "api_key_revoked"
    case channelCreated = "channel_created"
    case channelDeleted = "channel_deleted"
    case channelsReconciled = "channels_reconciled"
    case deviceDeleted = "device_deleted"
    case haltLifted = "halt_lifted"
    case scheduleCancelled = "schedule_cancelled"
    /// An operator ran a schedule before its time.
    case scheduleRun = "schedule_run"
    case ticketIssued = "ticket_issued"
    case ticketKeyCreated = "ticket_key_created"
    case ticketKeyRevoked = "ticket_key_revoked"
    /// Earlier signed tickets of a user or a device are refused from now on.
    case ticketsRevoked = "tickets_revoked"
    case typeChanged = "type_changed"
    case userErased = "user_erased"
    case webhookChanged = "webhook_changed"
    case webhookDeleted = "webhook_deleted"
    /// Events are delivered again from a time on.
    case webhookReplayed = "webhook_replayed"
}

/// One entry of the audit log.
package struct AuditEntry: Sendable, Hashable {
    /// Grows with time.
    package var id: Int64
    package var at: Instant
    /// The API key that the operator used, or `bootstrap`. `keyName` is the key's name at that time.
    package var keyID: String
    package var keyName: String?
    /// The `X-Request-Id` of the request.
    package var requestID: String
    /// One of ``AuditAction``. Later versions may add more.
    package var action: String
    /// The app that the action changed; nil if it belongs to no app.
    package var bundleID: BundleID?
    /// The object that the action changed: a type's name, a key's id, …
    package var subject: String
    /// The object before the action, without secrets. Nil if the action created it.
    package var before: JSONValue?
    /// The object after the action. Nil if it is gone.
    package var after: JSONValue?

    package init(
        id: Int64,
        at: Instant,
        keyID: String,
        keyName: String? = nil,
        requestID: String,
        action: String,
        bundleID: BundleID? = nil,
        subject: String,
        before: JSONValue? = nil,
        after: JSONValue? = nil
    ) {
        self.id = id
        self.at = at
        self.keyID = keyID
        self.keyName = keyName
        self.requestID = requestID
        self.action = action
        self.bundleID = bundleID
        self.subject = subject
        self.before = before
        self.after = after
    }
}

extension AuditEntry: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .int64),
        .required("at", \.at, .time),
        .required("key_id", \.keyID, .string),
        .optional("key_name", \.keyName, .string),
        .required("request_id", \.requestID, .string),
        .required("action", \.action, .string),
        .optional("bundle_id", \.bundleID, .bundleID),
        .required("subject", \.subject, .string),
        .optional("before", \.before, .any),
        .optional("after", \.after, .any),
        make: Self.init
    )
}

/// Selects entries of the audit log. A nil field selects all.
package struct AuditFilter: Sendable, Hashable {
    package var app: BundleID?
    package var action: AuditAction?
    package var keyID: String?
    /// Entries at this time or later.
    package var since: Instant?
    /// Entries before this time.
    package var until: Instant?

    package init(
        app: BundleID? = nil,
        action: AuditAction? = nil,
        keyID: String? = nil,
        since: Instant? = nil,
        until: Instant? = nil
    ) {
        self.app = app
        self.action = action
        self.keyID = keyID
        self.since = since
        self.until = until
    }
}
