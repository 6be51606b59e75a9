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
    /// Cards that get no updates until they begin: their apps have scheduled them (``WithheldReason/pending``).
    package var waitingToBegin: Int
    /// Destinations whose token no longer exists, according to Apple.
    package var dead: Int
    /// Destinations that get no pushes: their app version cannot decode the state, or Apple refused the token.
    package var withheld: Int

    package init(
        destinations: Int = 0,
        current: Int = 0,
        pending: Int = 0,
        waitingForToken: Int = 0,
        waitingToBegin: Int = 0,
        dead: Int = 0,
        withheld: Int = 0
    ) {
        self.destinations = destinations
        self.current = current
        self.pending = pending
        self.waitingForToken = waitingForToken
        self.waitingToBegin = waitingToBegin
        self.dead = dead
        self.withheld = withheld
    }
}

/// The progress of the starts, as counts of devices.
package struct StartProgress: Sendable, Hashable {
    /// Whether Tally still makes starts for the audience. The other counts grow until then.
    package var enrolling: Bool
    /// Not sent yet, including claimed starts.
    package var pending: Int
    /// Accepted by Apple, but not yet reported by the phone.
    package var sent: Int
    /// Sent without an answer: the start may have arrived.
    package var unanswered: Int
    /// Reported by the phone.
    package var confirmed: Int
    /// Starts that were sent a second time. They are also counted in one of the other fields.
    package var repeated: Int
    /// Cannot be sent, either for now or until the device registers again.
    package var withheld: Int
    /// Refused by Apple.
    package var failed: Int
    /// Why starts are withheld or failed: the number of starts for each reason, a word of Tally's or Apple's.
    package var reasons: [String: Int]

    package init(
        enrolling: Bool = false,
        pending: Int = 0,
        sent: Int = 0,
        unanswered: Int = 0,
        confirmed: Int = 0,
        repeated: Int = 0,
        withheld: Int = 0,
        failed: Int = 0,
        reasons: [String: Int] = [:]
    ) {
        self.enrolling = enrolling
        self.pending = pending
        self.sent = sent
        self.unanswered = unanswered
        self.confirmed = confirmed
        self.repeated = repeated
        self.withheld = withheld
        self.failed = failed
        self.reasons = reasons
    }
}

extension ActivityResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("type", \.type, .typeName),
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("state", \.state, .word(ActivityState.self)),
        .required("revision", \.revision, .int64),
        .nullable("timestamp", \.timestamp, .int64),
        .required("delivery", \.delivery, .word(Delivery.self)),
        .required("content_state", \.contentState, .object),
        .required("attributes", \.attributes, .object),
        .required("created_at", \.createdAt, .time),
        .optional("started_at", \.startedAt, .time),
        .optional("ended_at", \.endedAt, .time),
        .optional("starts_at", \.startsAt, .time),
        .optional("ends_at", \.endsAt, .time),
        .optional("channel", \.channel, .object(ChannelReference.self)),
        .required("progress", \.progress, .object(DeliveryProgress.self)),
        .required("starts", \.starts, .object(StartProgress.self)),
        .optional("schedules", \.schedules, .list(of: .object(ScheduleResource.self)), else: []),
        make: Self.init
    )
}

extension DeliveryProgress: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("destinations", \.destinations, .int),
        .required("current", \.current, .int),
        .required("pending", \.pending, .int),
        .required("waiting_for_token", \.waitingForToken, .int),
        .optional("waiting_to_begin", \.waitingToBegin, .int, unless: 0),
        .required("dead", \.dead, .int),
        .required("withheld", \.withheld, .int),
        make: Self.init
    )
}

extension StartProgress: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("enrolling", \.enrolling, .bool),
        .required("pending", \.pending, .int),
        .required("sent", \.sent, .int),
        .required("unanswered", \.unanswered, .int),
        .required("confirmed", \.confirmed, .int),
        .required("repeated", \.repeated, .int),
        .required("withheld", \.withheld, .int),
        .required("failed", \.failed, .int),
        .optional("reasons", \.reasons, .counts, unless: [:]),
        make: Self.init
    )
}
