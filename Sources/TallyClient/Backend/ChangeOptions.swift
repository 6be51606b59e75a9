internal import APITypes
internal import ActivityModel
public import Foundation
internal import JSON

/// What a caller says of a change; Tally chooses the priority.
public enum ChangeUrgency: String, Sendable, Hashable, CaseIterable {
    case routine, notable, critical

    // The same words in both.
    fileprivate var urgency: Urgency? { Urgency(rawValue: rawValue) }
}

/// How phones are reached.
public enum ActivityDelivery: String, Sendable, Hashable, CaseIterable {
    /// One push per phone.
    case tokens
    /// One push for all, from iOS 18 on.
    case channel
    /// By channel from iOS 18 on, by token before.
    case hybrid
}

/// What a start may say besides its state.
public struct StartOptions: Sendable, Hashable {
    /// The users whose devices show it.
    public var users: [String] = []
    /// The devices that show it.
    public var devices: [String] = []
    /// Whether every device with a start token for the type shows it.
    public var everyDevice = false
    /// Needed where phones are to show it, unless the type's policy has one.
    public var alert: ChangeAlert?
    /// Nil: routine. What starts a card on a phone is sent at once in any case.
    public var urgency: ChangeUrgency?
    /// How phones are reached; cannot be changed later.
    public var delivery = ActivityDelivery.tokens
    /// Whether it belongs to the sandbox; false: production if the app has it.
    public var isSandbox = false
    /// When to start it; nil: now.
    public var startsAt: Date?
    /// When to end it without a request.
    public var endsAt: Date?
    /// After how many seconds phones show it as out of date.
    public var staleAfterSeconds: Int64?
    /// Which of the app's activities the phone shows first: the larger, the sooner; nil: that is left to the phone.
    public var relevanceScore: Double?

    /// An activity that apps start themselves, if no audience is added.
    public init() {}

    func apply(to request: inout StartRequest) throws(TallyError) {
        request.audience = try ActivityAudience(users: users, devices: devices, everyDevice: everyDevice).audience()
        request.alert = alert?.content
        request.urgency = urgency?.urgency
        request.delivery = Delivery(rawValue: delivery.rawValue) ?? .tokens
        request.environment = isSandbox ? .sandbox : nil
        request.startsAt = try TallyBackend.instant(startsAt, "startsAt")
        request.endsAt = try TallyBackend.instant(endsAt, "endsAt")
        request.staleAfterSeconds = staleAfterSeconds
        request.relevanceScore = try TallyBackend.finite(relevanceScore, "relevanceScore")
    }
}

/// What an update may say besides its state.
public struct UpdateOptions: Sendable, Hashable {
    /// Nil: the card changes without a sound.
    public var alert: ChangeAlert?
    /// Nil: what the type's policy says of what has changed, else routine.
    public var urgency: ChangeUrgency?
    /// Whether every phone gets a push of its own for this change.
    public var mustDeliver = false
    /// Whether it is sent even if the state is the newest one already.
    public var force = false
    /// When it happened: what is older than the newest accepted one is refused.
    public var eventTime: Date?
    /// When to post it; nil: now.
    public var at: Date?
    /// After how many seconds phones show it as out of date.
    public var staleAfterSeconds: Int64?
    /// Which of the app's activities the phone shows first: the larger, the sooner; nil: that is left to the phone.
    public var relevanceScore: Double?

    /// A routine update, now.
    public init() {}

    func apply(to request: inout UpdateRequest) throws(TallyError) {
        request.alert = alert?.content
        request.urgency = urgency?.urgency
        request.mustDeliver = mustDeliver
        request.force = force
        request.eventTime = try TallyBackend.instant(eventTime, "eventTime")
        request.at = try TallyBackend.instant(at, "at")
        request.staleAfterSeconds = staleAfterSeconds
        request.relevanceScore = try TallyBackend.finite(relevanceScore, "relevanceScore")
    }
}

/// What an end may say besides its state.
public struct EndOptions: Sendable, Hashable {
    /// Nil: the card ends without a sound.
    public var alert: ChangeAlert?
    /// How many seconds the card stays, 0 to 14400; nil: what the type's policy says.
    public var dismissAfterSeconds: Int64?
    /// Until when the card stays; not both of them.
    public var dismissAt: Date?
    /// When to end it; nil: now.
    public var at: Date?

    /// An end, now.
    public init() {}

    func request(contentState: JSONObject?) throws(TallyError) -> EndRequest {
        EndRequest(
            contentState: contentState,
            dismissal: try dismissal(),
            alert: alert?.content,
            at: try TallyBackend.instant(at, "at")
        )
    }

    private func dismissal() throws(TallyError) -> EndRequest.Dismissal? {
        guard let time = try TallyBackend.instant(dismissAt, "dismissAt") else {
            return dismissAfterSeconds.map { .after(seconds: $0) }
        }
        guard dismissAfterSeconds == nil else {
            throw TallyError(invalidArgument: "Either dismissAfterSeconds or dismissAt can be given.")
        }
        return .at(time)
    }
}

/// What Tally has accepted.
public struct AcceptedChange: Sendable, Hashable {
    /// The activity's revision; nil for a change that is scheduled.
    public let revision: Int64?
    /// The state was the newest one already: nothing is sent.
    public let isUnchanged: Bool
    /// The schedule's id, for a change that happens later.
    public let scheduleID: String?

    init(revision: Int64?, isUnchanged: Bool, scheduleID: String? = nil) {
        self.revision = revision
        self.isUnchanged = isUnchanged
        self.scheduleID = scheduleID
    }

    init(_ answer: ChangeAnswer) {
        switch answer {
        case .accepted(_, let revision, _, let unchanged):
            self.init(revision: revision, isUnchanged: unchanged)
        case .scheduled(let id):
            self.init(revision: nil, isUnchanged: false, scheduleID: id)
        }
    }
}
