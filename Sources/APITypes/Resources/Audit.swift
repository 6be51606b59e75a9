package import ActivityModel
package import JSON

/// What operators do that is put on record.
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
    /// Somebody had it run before its time.
    case scheduleRun = "schedule_run"
    case ticketIssued = "ticket_issued"
    case typeChanged = "type_changed"
    case userErased = "user_erased"
}

/// One entry of the audit log.
package struct AuditEntry: Sendable, Hashable {
    /// Grows with time.
    package var id: Int64
    package var at: Instant
    /// The API key that it was done with, or `bootstrap`; and the key's name at that time.
    package var keyID: String
    package var keyName: String?
    /// The `X-Request-Id` of the request.
    package var requestID: String
    /// One of ``AuditAction``; later versions may know more.
    package var action: String
    /// The app that it was done to; nil for what belongs to none.
    package var bundleID: BundleID?
    /// What it was done to: a type's name, a key's id, …
    package var subject: String
    /// How that stood before; nil if it was made. Without secrets.
    package var before: JSONValue?
    /// How it stood afterwards; nil if it is gone.
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

extension AuditEntry: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .int64)
        let at = reader.required("at", .time)
        let keyID = reader.required("key_id", .string)
        let keyName = reader.optional("key_name", .string)
        let requestID = reader.required("request_id", .string)
        let action = reader.required("action", .string)
        let bundleID = reader.optional("bundle_id", .bundleID)
        let subject = reader.required("subject", .string)
        let before = reader.optional("before", .any)
        let after = reader.optional("after", .any)
        guard reader.finish(), let id, let at, let keyID, let requestID, let action, let subject else { return nil }
        self.init(
            id: id,
            at: at,
            keyID: keyID,
            keyName: keyName,
            requestID: requestID,
            action: action,
            bundleID: bundleID,
            subject: subject,
            before: before,
            after: after
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id)
        fields.add("at", at)
        fields.add("key_id", keyID)
        fields.add("key_name", keyName)
        fields.add("request_id", requestID)
        fields.add("action", action)
        fields.add("bundle_id", bundleID?.rawValue)
        fields.add("subject", subject)
        fields.add("before", before)
        fields.add("after", after)
        return fields.json
    }
}

/// Which entries of the audit log are wanted; what is nil does not matter.
package struct AuditFilter: Sendable, Hashable {
    package var app: BundleID?
    package var action: AuditAction?
    package var keyID: String?
    /// From this time on.
    package var since: Instant?
    /// Before this time.
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
