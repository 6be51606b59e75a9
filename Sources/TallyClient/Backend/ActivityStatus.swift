internal import APITypes
internal import ActivityModel
public import Foundation
internal import JSON

/// One activity as Tally knows it, and how far its newest change has come.
public struct ActivityStatus: Sendable, Hashable {
    /// Where it stands in its life.
    public enum State: String, Sendable, Hashable, CaseIterable {
        case scheduled, live, ended

        // The same words in both.
        init(_ state: ActivityState) { self = Self(rawValue: state.rawValue) ?? .live }
    }

    /// How far the newest change has come; counts of destinations.
    public struct Progress: Sendable, Hashable {
        /// All that follow the activity: one per update token, and one for a channel.
        public let destinations: Int
        /// Sent the newest revision, or the end.
        public let current: Int
        /// Still to be sent to.
        public let pending: Int
        /// Started phones that have not reported an update token.
        public let waitingForToken: Int
        /// Apple said that the token is gone.
        public let dead: Int
        /// Kept from being sent to, for now: the app there could not decode it, or Apple refused the token.
        public let withheld: Int
    }

    /// What became of the starts; counts of devices.
    public struct Starts: Sendable, Hashable {
        /// Not sent yet.
        public let pending: Int
        /// Apple took it; the phone has not reported.
        public let sent: Int
        /// No answer: it may have arrived.
        public let unknown: Int
        /// The phone has reported.
        public let settled: Int
        /// Of all the others: sent a second time.
        public let repeated: Int
        /// Cannot be sent, for now or until the device registers anew.
        public let withheld: Int
        /// Apple refused it.
        public let failed: Int
        /// Why starts are withheld or have failed, in a word of Tally's or of Apple's, and how many for that reason.
        public let reasons: [String: Int]
    }

    /// A change that happens later.
    public struct Schedule: Sendable, Hashable {
        /// That of ``AcceptedChange/scheduleID``.
        public let id: String
        /// `start`, `update` or `end`.
        public let kind: String
        /// When that is.
        public let dueAt: Date
        /// `pending`, `done`, `cancelled`, or `failed`: it was refused when it was due.
        public let state: String
        /// Why it failed.
        public let reason: String?
    }

    /// The caller's own.
    public let id: String
    /// The name of its activity type.
    public let type: String
    /// Whether it belongs to the sandbox.
    public let isSandbox: Bool
    /// Where it stands in its life.
    public let state: State
    /// Counts the accepted changes, from 1.
    public let revision: Int64
    /// How phones are reached.
    public let delivery: ActivityDelivery
    /// JSON: the newest accepted state, as phones decode it. Numbers keep their digits.
    public let contentState: Data
    /// JSON: the attributes, as phones decode them.
    public let attributes: Data
    /// When its start was accepted.
    public let createdAt: Date
    /// When it began to live; nil before.
    public let startedAt: Date?
    /// When it ended; nil before.
    public let endedAt: Date?
    /// When it starts or started without a request.
    public let startsAt: Date?
    /// When it is ended without a request.
    public let endsAt: Date?
    /// Apple's id of its channel; nil without one, and while it is being made.
    public let channelID: String?
    /// How far the newest change has come.
    public let progress: Progress
    /// What became of the starts.
    public let starts: Starts
    /// Those that are still to come.
    public let schedules: [Schedule]

    init(_ activity: ActivityResource) {
        id = activity.activityID.rawValue
        type = activity.type.rawValue
        isSandbox = activity.environment == .sandbox
        state = State(activity.state)
        revision = activity.revision
        // The same words in both.
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
        dead = progress.dead
        withheld = progress.withheld
    }
}

extension ActivityStatus.Starts {
    init(_ starts: StartProgress) {
        pending = starts.pending
        sent = starts.sent
        unknown = starts.unknown
        settled = starts.settled
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
    /// Shows an activity: its state, and to how many it has come.
    ///
    /// - Throws: ``TallyError`` with the code `not_found`.
    public func activity(_ id: String) async throws(TallyError) -> ActivityStatus {
        let id = try Self.activityID(id)
        return try await call { client throws(ClientError) in ActivityStatus(try await client.activity(app, id)) }
    }
}
