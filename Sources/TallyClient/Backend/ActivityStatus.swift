internal import APITypes
internal import ActivityModel
public import Foundation
internal import JSON

/// One activity in Tally, with the delivery progress of its newest change.
public struct ActivityStatus: Sendable, Hashable {
    /// The stage of an activity's life.
    public enum State: String, Sendable, Hashable, CaseIterable {
        case scheduled, live, ended

        // Both enums have the same raw values.
        init(_ state: ActivityState) { self = Self(rawValue: state.rawValue) ?? .live }
    }

    /// The delivery progress of the newest change, as counts of destinations.
    public struct Progress: Sendable, Hashable {
        /// All destinations that follow the activity: one per update token, and one for a channel.
        public let destinations: Int
        /// Destinations that were sent the newest revision, or the end.
        public let current: Int
        /// Destinations that still need a push.
        public let pending: Int
        /// Started phones that have not reported an update token.
        public let waitingForToken: Int
        /// Cards that apps scheduled, and that get no updates until they begin.
        public let waitingToBegin: Int
        /// Destinations whose token no longer exists, according to Apple.
        public let dead: Int
        /// Destinations that get no pushes for now: the app cannot decode the state, or Apple refused the token.
        public let withheld: Int
    }

    /// The progress of the starts, as counts of devices.
    public struct Starts: Sendable, Hashable {
        /// Whether Tally still makes starts for the audience. The other counts grow until then.
        public let enrolling: Bool
        /// Not sent yet.
        public let pending: Int
        /// Accepted by Apple, but not yet reported by the phone.
        public let sent: Int
        /// Sent without an answer: the start may have arrived.
        public let unanswered: Int
        /// Reported by the phone.
        public let confirmed: Int
        /// Starts that were sent a second time. They are also counted in one of the other fields.
        public let repeated: Int
        /// Cannot be sent, either for now or until the device registers again.
        public let withheld: Int
        /// Refused by Apple.
        public let failed: Int
        /// Why starts are withheld or failed: the number of starts for each reason, a word of Tally's or Apple's.
        public let reasons: [String: Int]
    }

    /// A scheduled change.
    public struct Schedule: Sendable, Hashable {
        /// The same id as ``AcceptedChange/scheduleID``.
        public let id: String
        /// `start`, `update` or `end`.
        public let kind: String
        /// When the change happens.
        public let dueAt: Date
        /// `pending`, `done`, `cancelled`, or `failed`, which means that the change was refused at its time.
        public let state: String
        /// Why it failed.
        public let reason: String?
    }

    /// The id that the caller chose.
    public let id: String
    /// The name of its activity type.
    public let type: String
    /// Whether it uses APNs' sandbox environment.
    public let isSandbox: Bool
    /// The stage of its life.
    public let state: State
    /// The number of accepted changes, starting at 1.
    public let revision: Int64
    /// How pushes reach the phones.
    public let delivery: ActivityDelivery
    /// The newest accepted state as JSON, as phones decode it. Numbers keep their digits.
    public let contentState: Data
    /// The attributes as JSON, as phones decode them.
    public let attributes: Data
    /// When its start was accepted.
    public let createdAt: Date
    /// When it started; nil before.
    public let startedAt: Date?
    /// When it ended; nil before.
    public let endedAt: Date?
    /// The scheduled time of its start; nil without one.
    public let startsAt: Date?
    /// When it ends without a request.
    public let endsAt: Date?
    /// Apple's id of its channel. Nil without a channel, and while Apple creates it.
    public let channelID: String?
    /// The delivery progress of the newest change.
    public let progress: Progress
    /// The progress of the starts.
    public let starts: Starts
    /// The pending scheduled changes.
    public let schedules: [Schedule]

    init(_ activity: ActivityResource) {
        id = activity.activityID.rawValue
        type = activity.type.rawValue
        isSandbox = activity.environment == .sandbox
        state = State(activity.state)
        revision = activity.revision
        // Both enums have the same raw values.
        delivery = ActivityDelivery(rawValue: activity.delivery.rawValue) ?? .tokens
        contentState = Data(JSONValue.object(activity.contentState).serialized())
        attributes = Data(JSONValue.object(activity.attributes).serialized())
        createdAt = Date(activity.createdAt)
        startedAt = activity.startedAt.map { Date($0) }
        endedAt = activity.endedAt.map { Date($0) }
        startsAt = activity.startsAt.map { Date($0) }
        endsAt = activity.endsAt.map { Date($0) }
        channelID = activity.channel?.apnsChannelID?.rawValue
        progress = Progress(activity.progress)
        starts = Starts(activity.starts)
        schedules = activity.schedules.map { Schedule($0) }
    }
}

extension ActivityStatus.Progress {
    init(_ progress: DeliveryProgress) {
        destinations = progress.destinations
        current = progress.current
        pending = progress.pending
        waitingForToken = progress.waitingForToken
        waitingToBegin = progress.waitingToBegin
        dead = progress.dead
        withheld = progress.withheld
    }
}

extension ActivityStatus.Starts {
    init(_ starts: StartProgress) {
        enrolling = starts.enrolling
        pending = starts.pending
        sent = starts.sent
        unanswered = starts.unanswered
        confirmed = starts.confirmed
        repeated = starts.repeated
        withheld = starts.withheld
        failed = starts.failed
        reasons = starts.reasons
    }
}

extension ActivityStatus.Schedule {
    init(_ schedule: ScheduleResource) {
        id = schedule.id
        kind = schedule.kind.rawValue
        dueAt = Date(schedule.dueAt)
        state = schedule.state.rawValue
        reason = schedule.reason
    }
}

extension TallyBackend {
    /// Returns an activity: its state and its delivery progress.
    ///
    /// - Throws: ``TallyError`` with the code `not_found`.
    public func activity(_ id: String) async throws(TallyError) -> ActivityStatus {
        let id = try Self.activityID(id)
        return try await call { client throws(ClientError) in ActivityStatus(try await client.activity(app, id)) }
    }
}
