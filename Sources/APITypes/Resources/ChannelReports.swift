package import ActivityModel
package import JSON

/// `POST /v1/apps/{b}/channels/reconcile`.
package struct ReconcileRequest: Sendable, Hashable {
    /// Nil: `production` if the app has it, else its only one.
    package var environment: APNSEnvironment?
    /// Whether it only looks: nothing is written, here or at Apple.
    package var dryRun: Bool

    package init(environment: APNSEnvironment? = nil, dryRun: Bool = false) {
        self.environment = environment
        self.dryRun = dryRun
    }
}

extension ReconcileRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let dryRun = reader.optional("dry_run", .bool)
        guard reader.finish() else { return nil }
        self.init(environment: environment, dryRun: dryRun ?? false)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment?.rawValue)
        if dryRun { fields.add("dry_run", true) }
        return fields.json
    }
}

/// Something that Apple's list and our records do not agree about, and what was or would be done.
package struct ChannelFinding: Sendable, Hashable {
    /// How they differ.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Ours, to be used, and gone at Apple.
        case lost
        /// Ours, to be deleted, and gone at Apple already.
        case gone
        /// Ours, deleted, and still at Apple.
        case undeleted
        /// At Apple, and not ours.
        case unknown
    }

    /// What was done about it, or would be.
    package enum Action: String, Sendable, Hashable, CaseIterable {
        /// Nothing: it is reported.
        case keep
        /// Recorded as lost or deleted.
        case record
        /// Recorded as lost, and its activity gets another channel.
        case replace
        /// Deleted at Apple.
        case delete
    }

    package var kind: Kind
    package var action: Action
    /// Whether the action was carried out; never in a dry run.
    package var isDone: Bool
    package var apnsChannelID: APNSChannelID
    /// Nil for an unknown one.
    package var channelID: ChannelID?
    package var activityID: ActivityID?
    /// Of an unknown one.
    package var firstSeenAt: Instant?
    /// When an unknown one will be deleted; nil: never, as the app is not `channels_exclusive`.
    package var deleteAt: Instant?
    /// Why the action was not carried out.
    package var reason: String?

    package init(
        kind: Kind,
        action: Action,
        isDone: Bool = false,
        apnsChannelID: APNSChannelID,
        channelID: ChannelID? = nil,
        activityID: ActivityID? = nil,
        firstSeenAt: Instant? = nil,
        deleteAt: Instant? = nil,
        reason: String? = nil
    ) {
        self.kind = kind
        self.action = action
        self.isDone = isDone
        self.apnsChannelID = apnsChannelID
        self.channelID = channelID
        self.activityID = activityID
        self.firstSeenAt = firstSeenAt
        self.deleteAt = deleteAt
        self.reason = reason
    }
}

extension ChannelFinding: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let kind = reader.required("finding", .word(Kind.self))
        let action = reader.required("action", .word(Action.self))
        let isDone = reader.required("done", .bool)
        let apnsChannelID = reader.required("apns_channel_id", .apnsChannelID)
        let channelID = reader.optional("channel_id", .channelID)
        let activityID = reader.optional("activity_id", .activityID)
        let firstSeenAt = reader.optional("first_seen_at", .time)
        let deleteAt = reader.optional("delete_at", .time)
        let reason = reader.optional("reason", .string)
        guard reader.finish(), let kind, let action, let isDone, let apnsChannelID else { return nil }
        self.init(
            kind: kind,
            action: action,
            isDone: isDone,
            apnsChannelID: apnsChannelID,
            channelID: channelID,
            activityID: activityID,
            firstSeenAt: firstSeenAt,
            deleteAt: deleteAt,
            reason: reason
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("finding", kind.rawValue)
        fields.add("action", action.rawValue)
        fields.add("done", isDone)
        fields.add("apns_channel_id", apnsChannelID.rawValue)
        fields.add("channel_id", channelID?.rawValue)
        fields.add("activity_id", activityID?.rawValue)
        fields.add("first_seen_at", firstSeenAt)
        fields.add("delete_at", deleteAt)
        fields.add("reason", reason)
        return fields.json
    }
}

/// The channels of an app in one environment, compared with Apple's list.
package struct ChannelReport: Sendable, Hashable {
    /// The most channels that Apple gives an app in one environment (Apple, "Sending channel management requests to
    /// APNs").
    package static let quota = 10_000

    package var environment: APNSEnvironment
    package var dryRun: Bool
    /// Channels in Apple's list: what counts towards ``quota``.
    package var atApple: Int
    /// How many of them are ours.
    package var known: Int
    /// How many of ours have never been used.
    package var unused: Int
    /// Channels of ours that Apple has not made yet.
    package var creating: Int
    package var findings: [ChannelFinding]

    package init(
        environment: APNSEnvironment,
        dryRun: Bool,
        atApple: Int,
        known: Int,
        unused: Int,
        creating: Int,
        findings: [ChannelFinding] = []
    ) {
        self.environment = environment
        self.dryRun = dryRun
        self.atApple = atApple
        self.known = known
        self.unused = unused
        self.creating = creating
        self.findings = findings
    }
}

extension ChannelReport: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let dryRun = reader.required("dry_run", .bool)
        let atApple = reader.required("at_apple", .int)
        let known = reader.required("known", .int)
        let unused = reader.required("unused", .int)
        let creating = reader.required("creating", .int)
        let findings = reader.required("findings", .list(of: .object(ChannelFinding.self)))
        guard reader.finish(), let environment, let dryRun, let atApple, let known, let unused, let creating,
            let findings
        else { return nil }
        self.init(
            environment: environment,
            dryRun: dryRun,
            atApple: atApple,
            known: known,
            unused: unused,
            creating: creating,
            findings: findings
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment.rawValue)
        fields.add("dry_run", dryRun)
        fields.add("at_apple", atApple)
        fields.add("quota", Self.quota)
        fields.add("known", known)
        fields.add("unused", unused)
        fields.add("creating", creating)
        fields.add("findings", findings)
        return fields.json
    }
}
