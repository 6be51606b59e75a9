package import ActivityModel
package import JSON

/// One activity as answers show it.
package struct ActivityResource: Sendable, Hashable {
    package var activityID: ActivityID
    package var type: ActivityTypeName
    package var environment: APNSEnvironment
    package var state: ActivityState
    /// The newest accepted revision. Phones may still show an older one.
    package var revision: Revision
    /// The timestamp of the newest change; nil until it is stamped.
    package var timestamp: Timestamp?
    package var delivery: Delivery
    /// The newest accepted content state. Phones may still show an older one.
    package var contentState: JSONObject
    package var attributes: JSONObject
    package var createdAt: Instant
    package var startedAt: Instant?
    package var endedAt: Instant?
    package var startsAt: Instant?
    package var endsAt: Instant?
    package var channel: ChannelReference?
    package var progress: DeliveryProgress
    package var starts: StartProgress
    package var schedules: [ScheduleResource]

    package init(
        activityID: ActivityID,
        type: ActivityTypeName,
        environment: APNSEnvironment,
        state: ActivityState,
        revision: Revision,
        timestamp: Timestamp?,
        delivery: Delivery,
        contentState: JSONObject,
        attributes: JSONObject,
        createdAt: Instant,
        startedAt: Instant? = nil,
        endedAt: Instant? = nil,
        startsAt: Instant? = nil,
        endsAt: Instant? = nil,
        channel: ChannelReference? = nil,
        progress: DeliveryProgress,
        starts: StartProgress,
        schedules: [ScheduleResource] = []
    ) {
        self.activityID = activityID
        self.type = type
        self.environment = environment
        self.state = state
        self.revision = revision
        self.timestamp = timestamp
        self.delivery = delivery
        self.contentState = contentState
        self.attributes = attributes
        self.createdAt = createdAt
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.startsAt = startsAt
        self.endsAt = endsAt
        self.channel = channel
        self.progress = progress
        self.starts = starts
        self.schedules = schedules
    }
}

/// The delivery progress of the newest change, as counts of destinations.
package struct DeliveryProgress: Sendable, Hashable {
    /// All destinations that follow the activity: one per update token, and one for a channel.
    package var destinations: Int
    /// Destinations that were sent the newest revision, or the end.
    package var current: Int
    /// Destinations that still need a push.
    package var pending: Int
    /// Started phones that have not reported an update token.
    package var waitingForToken: Int
    /// Destinations whose token no longer exists, according to Apple.
    package var dead: Int
    /// Destinations that get no pushes: their app version cannot decode the state, or Apple refused the token.
    package var withheld: Int

    package init(
        destinations: Int = 0,
        current: Int = 0,
        pending: Int = 0,
        waitingForToken: Int = 0,
        dead: Int = 0,
        withheld: Int = 0
    ) {
        self.destinations = destinations
        self.current = current
        self.pending = pending
        self.waitingForToken = waitingForToken
        self.dead = dead
        self.withheld = withheld
    }
}

/// The progress of the starts, as counts of devices.
package struct StartProgress: Sendable, Hashable {
    /// Not sent yet, including claimed starts.
    package var pending: Int
    /// Accepted by Apple, but not yet reported by the phone.
    package var sent: Int
    /// Sent without an answer: the start may have arrived.
    package var unknown: Int
    /// Reported by the phone.
    package var settled: Int
    /// Starts that were sent a second time. They are also counted in one of the other fields.
    package var repeated: Int
    /// Cannot be sent, either for now or until the device registers again.
    package var withheld: Int
    /// Refused by Apple.
    package var failed: Int
    /// Why starts are withheld or failed: the number of starts for each reason, a word of Tally's or Apple's.
    package var reasons: [String: Int]

    package init(
        pending: Int = 0,
        sent: Int = 0,
        unknown: Int = 0,
        settled: Int = 0,
        repeated: Int = 0,
        withheld: Int = 0,
        failed: Int = 0,
        reasons: [String: Int] = [:]
    ) {
        self.pending = pending
        self.sent = sent
        self.unknown = unknown
        self.settled = settled
        self.repeated = repeated
        self.withheld = withheld
        self.failed = failed
        self.reasons = reasons
    }
}

extension ActivityResource: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(
            activityID: $0,
            type: $1,
            environment: $2,
            state: $3,
            revision: $4,
            timestamp: nil,
            delivery: $5,
            contentState: $6,
            attributes: $7,
            createdAt: $8,
            progress: $9,
            starts: $10
        )
    }) {
        required("activity_id", .activityID, \.activityID)
        required("type", .typeName, \.type)
        required("environment", .word(APNSEnvironment.self), \.environment)
        required("state", .word(ActivityState.self), \.state)
        required("revision", .int64, \.revision)
        nullable("timestamp", .int64, \.timestamp)
        required("delivery", .word(Delivery.self), \.delivery)
        required("content_state", .object, \.contentState)
        required("attributes", .object, \.attributes)
        required("created_at", .time, \.createdAt)
        optional("started_at", .time, \.startedAt)
        optional("ended_at", .time, \.endedAt)
        optional("starts_at", .time, \.startsAt)
        optional("ends_at", .time, \.endsAt)
        optional("channel", .object(ChannelReference.self), \.channel)
        required("progress", .object(DeliveryProgress.self), \.progress)
        required("starts", .object(StartProgress.self), \.starts)
        defaulted("schedules", .list(of: .object(ScheduleResource.self)), \.schedules)
    }
}

extension DeliveryProgress: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("destinations", .int, \.destinations)
        required("current", .int, \.current)
        required("pending", .int, \.pending)
        required("waiting_for_token", .int, \.waitingForToken)
        required("dead", .int, \.dead)
        required("withheld", .int, \.withheld)
    }
}

extension StartProgress: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(
            pending: $0,
            sent: $1,
            unknown: $2,
            settled: $3,
            repeated: $4,
            withheld: $5,
            failed: $6
        )
    }) {
        required("pending", .int, \.pending)
        required("sent", .int, \.sent)
        required("unknown", .int, \.unknown)
        required("settled", .int, \.settled)
        required("repeated", .int, \.repeated)
        required("withheld", .int, \.withheld)
        required("failed", .int, \.failed)
        defaulted("reasons", .counts, \.reasons, omitting: [:])
    }
}
