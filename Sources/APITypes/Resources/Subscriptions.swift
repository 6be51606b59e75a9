package import ActivityModel
package import JSON

/// `PUT …/activities/{id}/subscriptions/{device_id}`: what an app reports of one of its Live Activities.
package struct SubscriptionRequest: Sendable, Hashable {
    /// How the card is reached from now on, or that it is gone.
    package enum Report: Sendable, Hashable {
        case updateToken(PushToken)
        /// It listens to this channel of Apple's.
        case channelID(APNSChannelID)
        /// It listens to the activity's channel.
        case channel
        /// The card is gone; nothing is sent.
        case ended

        /// Whether pushes go to a token of this card alone.
        package var isByToken: Bool {
            if case .updateToken = self { return true }
            return false
        }
    }

    package var report: Report
    /// Grows with every report of this card; a report with a smaller one is stale. Nil: the order of arrival decides.
    package var generation: Int64?
    /// The revision that the card shows; nil: what the start or the last accepted push carried.
    package var knownRevision: Revision?
    /// ActivityKit's own id of the card.
    package var activityKitID: String?
    /// Needed for a device that is unknown so far.
    package var environment: APNSEnvironment?
    package var osVersion: OSVersion?
    package var appVersion: AppVersion?
    /// That of ``DeviceRequest/installation``.
    package var installation: String?

    package init(
        _ report: Report,
        generation: Int64? = nil,
        knownRevision: Revision? = nil,
        activityKitID: String? = nil,
        environment: APNSEnvironment? = nil,
        osVersion: OSVersion? = nil,
        appVersion: AppVersion? = nil,
        installation: String? = nil
    ) {
        self.report = report
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
            generation: generation,
            knownRevision: knownRevision,
            activityKitID: activityKitID,
            environment: environment,
            osVersion: osVersion,
            appVersion: appVersion,
            installation: installation
        )
    }

    /// Exactly one of the four fields.
    private static func readReport(_ reader: inout ObjectReader) -> Report? {
        let token = reader.optional("update_token", .token)
        let channelID = reader.optional("channel_id", .apnsChannelID)
        // These two are marks: they are there with `true` or not at all.
        let channel = reader.optional("channel", .mark)
        let ended = reader.optional("ended", .mark)
        let given = ["update_token", "channel_id", "channel", "ended"].filter(reader.has)
        guard given.count == 1 else {
            reader.refuse(
                code: given.isEmpty ? FieldError.missing : FieldError.conflict,
                message: "Exactly one of 'update_token', 'channel_id', 'channel' and 'ended' is expected."
            )
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
    /// `true`; a field that means something only by being there.
    static var mark: Self { of("True") { $0.bool == true ? true : nil } }
}

extension FieldType where Value == String {
    /// The app's own name of one installation.
    static var installation: Self { string(length: 1...128) }
}

/// Why a report of an app, or a part of it, was not taken.
package enum StaleReport: String, Sendable, Hashable, CaseIterable {
    /// A later generation is stored.
    case generation = "stale_generation"
    /// It is of an installation that another one has replaced, or gives a generation without its installation.
    case installation = "stale_installation"
}

/// How a subscription is reached.
package enum SubscriptionMode: String, Sendable, Hashable, CaseIterable {
    case token
    case channel
}

/// What Tally does for a subscription.
package enum SubscriptionState: String, Sendable, Hashable, CaseIterable {
    /// Started, and the phone has not reported its update token.
    case waitingForToken = "waiting_for_token"
    /// Served with all the others of the activity, or by its channel.
    case riding
    /// Served on its own: catching up, or tried again.
    case due
    /// Not sent to: its app version could not decode the newest state.
    case withheld
    /// Apple refused its token.
    case rejected
    /// Apple said that its token is gone.
    case dead
    /// The card is gone, or has been sent the end.
    case over
}

/// The answer to a report of a subscription, 200.
package struct SubscriptionAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    package var deviceID: DeviceID
    package var mode: SubscriptionMode
    package var state: SubscriptionState
    /// The activity's newest; what is newer than the phone's is sent without a further request.
    package var revision: Revision
    package var activityState: ActivityState
    /// Nil if the report was taken; else it changed nothing.
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

extension SubscriptionAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let deviceID = reader.required("device_id", .deviceID)
        let mode = reader.required("mode", .word(SubscriptionMode.self))
        let state = reader.required("state", .word(SubscriptionState.self))
        let revision = reader.required("revision", .int64)
        let activityState = reader.required("activity_state", .word(ActivityState.self))
        let stale = reader.staleness()
        guard reader.finish(), let activityID, let deviceID, let mode, let state, let revision, let activityState else {
            return nil
        }
        self.init(
            activityID: activityID,
            deviceID: deviceID,
            mode: mode,
            state: state,
            revision: revision,
            activityState: activityState,
            stale: stale
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("device_id", deviceID.rawValue)
        fields.add("mode", mode.rawValue)
        fields.add("state", state.rawValue)
        fields.add("revision", revision)
        fields.add("activity_state", activityState.rawValue)
        fields.add(stale)
        return fields.json
    }
}

extension ObjectReader {
    /// `reason`, where `accepted` is false.
    mutating func staleness() -> StaleReport? {
        // Answers that were kept before there was such a field are of reports that were taken.
        _ = optional("accepted", .bool)
        return optional("reason", .word(StaleReport.self))
    }
}

extension ObjectWriter {
    /// `accepted`, with a `reason` where it is false.
    mutating func add(_ stale: StaleReport?) {
        add("accepted", stale == nil)
        add("reason", stale?.rawValue)
    }
}
