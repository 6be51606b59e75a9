package import ActivityModel
import JSON

/// `POST /v1/apps/{b}/channels/reconcile`: compares an app's channels with Apple's list.
package struct ReconcileRequest: Sendable, Hashable {
    /// Nil: `production` if the app has it, otherwise its only environment.
    package var environment: APNSEnvironment?
    /// Whether to report only, and change nothing here or at Apple.
    package var dryRun: Bool

    package init(environment: APNSEnvironment? = nil, dryRun: Bool = false) {
        self.environment = environment
        self.dryRun = dryRun
    }
}

extension ReconcileRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("dry_run", \.dryRun, .bool, unless: false),
        make: Self.init
    )
}

/// A difference between Apple's list and Tally's records, with the action for it.
package struct ChannelFinding: Sendable, Hashable {
    /// How they differ.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Tally uses the channel, but Apple no longer has it.
        case lost
        /// Tally would delete the channel, but Apple no longer has it.
        case gone
        /// Tally deleted the channel, but Apple still has it.
        case undeleted
        /// Apple has the channel, but Tally does not know it.
        case unknown
    }

    /// The action for a difference.
    package enum Action: String, Sendable, Hashable, CaseIterable {
        /// Only report it.
        case keep
        /// Record the channel as lost or deleted.
        case record
        /// Record the channel as lost and give its activity another one.
        case replace
        /// Delete the channel at Apple.
        case delete
    }

    package var kind: Kind
    package var action: Action
    /// Whether the action was carried out. Always false in a dry run.
    package var isDone: Bool
    package var apnsChannelID: APNSChannelID
    /// Nil for an unknown channel.
    package var channelID: ChannelID?
    package var activityID: ActivityID?
    /// Only for an unknown channel.
    package var firstSeenAt: Instant?
    /// When an unknown channel will be deleted; nil: never, because the app is not `channels_exclusive`.
    package var deleteAt: Instant?
    /// Why the action failed or was not carried out.
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

extension ChannelFinding: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("finding", \.kind, .word(Kind.self)),
        .required("action", \.action, .word(Action.self)),
        .required("done", \.isDone, .bool),
        .required("apns_channel_id", \.apnsChannelID, .apnsChannelID),
        .optional("channel_id", \.channelID, .channelID),
        .optional("activity_id", \.activityID, .activityID),
        .optional("first_seen_at", \.firstSeenAt, .time),
        .optional("delete_at", \.deleteAt, .time),
        .optional("reason", \.reason, .string),
        make: Self.init
    )
}

/// An app's channels in one environment, compared with Apple's list.
package struct ChannelReport: Sendable, Hashable {
    /// The most channels per app and environment (Apple, "Sending channel management requests to APNs").
    package static let quota = 10_000

    package var environment: APNSEnvironment
    package var dryRun: Bool
    /// Channels in Apple's list. They count towards ``quota``.
    package var atApple: Int
    /// The number of them that Tally knows.
    package var known: Int
    /// Tally's channels that no activity has used.
    package var unused: Int
    /// Tally's channels that Apple has not created yet.
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

extension ChannelReport: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("dry_run", \.dryRun, .bool),
        countAndQuota,
        .required("known", \.known, .int),
        .required("unused", \.unused, .int),
        .required("creating", \.creating, .int),
        .required("findings", \.findings, .list(of: .object(ChannelFinding.self))),
        make: Self.init
    )

    /// `at_apple`, and beside it the quota.
    private static let countAndQuota = Field<ChannelReport, Int> { reader in
        reader.required("at_apple", .int)
    } write: { report, writer in
        writer.add("at_apple", report.atApple)
        writer.add("quota", quota)
    }
}
