package import ActivityModel
package import JSON

/// `PUT …/activities/{id}/subscriptions/{device_id}`: an app's report of one of its Live Activities. Tally then sends
/// the card what it misses.
package struct SubscriptionRequest: Sendable, Hashable {
    /// How to reach the card from now on, or that it is gone.
    package enum Report: Sendable, Hashable {
        case updateToken(PushToken)
        /// The card listens to this APNs channel, named by Apple's id.
        case channelID(APNSChannelID)
        /// The card listens to the activity's channel.
        case channel
        /// The card is gone, so Tally sends nothing to it.
        case ended

        /// Whether pushes go to this card's own token.
        package var isByToken: Bool {
            if case .updateToken = self { return true }
            return false
        }
    }

    package var report: Report
    /// Whether the card has not begun: its app has scheduled it, and it is pending on the phone.
    package var isPending: Bool
    /// Grows with every report of the device about this activity, whichever card it is about. A report with a smaller
    /// generation is stale. Nil: arrival order decides.
    package var generation: Int64?
    /// The revision that the card shows. Nil: the revision of the start or of the last accepted push.
    package var knownRevision: Revision?
    /// ActivityKit's id of the card.
    package var activityKitID: String?
    /// Required for a device that Tally does not know yet.
    package var environment: APNSEnvironment?
    package var osVersion: OSVersion?
    package var appVersion: AppVersion?
    /// See ``DeviceRequest/installation``.
    package var installation: String?

    package init(
        _ report: Report,
        isPending: Bool = false,
        generation: Int64? = nil,
        knownRevision: Revision? = nil,
        activityKitID: String? = nil,
        environment: APNSEnvironment? = nil,
        osVersion: OSVersion? = nil,
        appVersion: AppVersion? = nil,
        installation: String? = nil
    ) {
        self.report = report
        self.isPending = isPending
        self.generation = generation
        self.knownRevision = knownRevision
        self.activityKitID = activityKitID
        self.environment = environment
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.installation = installation
    }
}

extension SubscriptionRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let report = Self.readReport(&reader)
        let isPending = reader.optional("pending", .mark) != nil
        if isPending, report == .ended {
            let message = "'pending' does not go with 'ended': a card that is gone does not begin."
            reader.refuse("pending", code: FieldError.conflict, message: message)
        }
        let generation = reader.optional("generation", .counter)
        let knownRevision = reader.optional("known_revision", .counter)
        let activityKitID = reader.optional("activitykit_id", .string(length: 1...256))
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let osVersion = reader.optional("os_version", .osVersion)
        let appVersion = reader.optional("app_version", .appVersion)
        let installation = reader.optional("installation", .installation)
        guard reader.finish(), let report else { return nil }
        self.init(
            report,
            isPending: isPending,
            generation: generation,
            knownRevision: knownRevision,
            activityKitID: activityKitID,
            environment: environment,
            osVersion: osVersion,
            appVersion: appVersion,
            installation: installation
        )
    }

    /// Reads the report, which is exactly one of the four fields.
    private static func readReport(_ reader: inout ObjectReader) -> Report? {
        let token = reader.optional("update_token", .token)
        let channelID = reader.optional("channel_id", .apnsChannelID)
        // These two fields, and `pending`, are either `true` or absent.
        let channel = reader.optional("channel", .mark)
        let ended = reader.optional("ended", .mark)
        let given = ["update_token", "channel_id", "channel", "ended"].filter(reader.has)
        guard given.count == 1 else {
            let message = "Exactly one of 'update_token', 'channel_id', 'channel' and 'ended' is expected."
            reader.refuse(code: given.isEmpty ? FieldError.missing : FieldError.conflict, message: message)
            return nil
        }
        if let token { return .updateToken(token) }
        if let channelID { return .channelID(channelID) }
        if channel != nil { return .channel }
        return ended.map { _ in .ended }
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch report {
        case .updateToken(let token): fields.add("update_token", token.hex)
        case .channelID(let id): fields.add("channel_id", id.rawValue)
        case .channel: fields.add("channel", true)
        case .ended: fields.add("ended", true)
        }
        if isPending { fields.add("pending", true) }
        fields.add("generation", generation)
        fields.add("known_revision", knownRevision)
        fields.add("activitykit_id", activityKitID)
        fields.add("environment", environment?.rawValue)
        fields.add("os_version", osVersion?.description)
        fields.add("app_version", appVersion?.description)
        fields.add("installation", installation)
        return fields.json
    }
}

extension FieldType where Value == Bool {
    /// `true`, for a field that is either `true` or absent.
    static var mark: Self { of("True", { $0.bool == true ? true : nil }, write: { .bool($0) }) }
}

extension FieldType where Value == String {
    /// The app's name for one of its installations.
    static var installation: Self { string(length: 1...128) }
}

/// Why Tally ignored an app's report, or a part of it.
package enum StaleReport: String, Sendable, Hashable, CaseIterable {
    /// A later generation is stored.
    case generation = "stale_generation"
    /// The report is from a replaced installation, or has a generation but no installation.
    case installation = "stale_installation"
}

/// Why a subscription is withheld, beside an app version that cannot decode the newest state.
package enum WithheldReason {
    /// The card is pending on the phone, and the policy `pending_updates` says `wait`.
    package static let pending = "pending"
}

/// How Tally reaches a subscription.
package enum SubscriptionMode: String, Sendable, Hashable, CaseIterable {
    case token
    case channel
}

/// The sending state of a subscription.
package enum SubscriptionState: String, Sendable, Hashable, CaseIterable {
    /// Started, but the phone has not reported its update token.
    case waitingForToken = "waiting_for_token"
    /// It gets every change together with all others of the activity, or through its channel.
    case riding = "following"
    /// Behind: it gets pushes on its own, to catch up or to retry.
    case due = "catching_up"
    /// Gets no pushes, because its app version cannot decode the newest state, or because it has not begun.
    case withheld
    /// Gets no pushes, because Apple refused its token.
    case rejected
    /// Gets no pushes, because Apple reported its token as gone.
    case dead
    /// The card is gone, or was sent the end.
    case over = "ended"
}

/// The answer to a report of a subscription, 200.
package struct SubscriptionAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    package var deviceID: DeviceID
    package var mode: SubscriptionMode
    package var state: SubscriptionState
    /// The activity's newest revision. If the phone's is older, Tally sends the newest one without another request.
    package var revision: Revision
    package var activityState: ActivityState
    /// Why the report was ignored and changed nothing; nil if it was accepted.
    package var stale: StaleReport?

    package init(
        activityID: ActivityID,
        deviceID: DeviceID,
        mode: SubscriptionMode,
        state: SubscriptionState,
        revision: Revision,
        activityState: ActivityState,
        stale: StaleReport? = nil
    ) {
        self.activityID = activityID
        self.deviceID = deviceID
        self.mode = mode
        self.state = state
        self.revision = revision
        self.activityState = activityState
        self.stale = stale
    }
}

extension SubscriptionAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("device_id", \.deviceID, .deviceID),
        .required("mode", \.mode, .word(SubscriptionMode.self)),
        .required("state", \.state, .word(SubscriptionState.self)),
        .required("revision", \.revision, .int64),
        .required("activity_state", \.activityState, .word(ActivityState.self)),
        .staleness(\.stale),
        make: Self.init
    )
}

extension Field {
    /// `accepted`, and `reason` if that is false.
    static func staleness(_ place: any KeyPath<Root, StaleReport?> & Sendable) -> Field where Value == StaleReport? {
        Field { reader in
            // Answers that were stored before this field existed belong to accepted reports.
            _ = reader.optional("accepted", .bool)
            return .some(reader.optional("reason", .word(StaleReport.self)))
        } write: { root, writer in
            let stale = root[keyPath: place]
            writer.add("accepted", stale == nil)
            writer.add("reason", stale?.rawValue)
        }
    }
}
