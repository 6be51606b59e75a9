internal import APITypes
internal import ActivityModel
public import Foundation
internal import JSON

/// How urgent a change is. Tally chooses the APNs priority.
public enum ChangeUrgency: String, Sendable, Hashable, CaseIterable {
    case routine, notable, critical

    // Both enums have the same raw values.
    fileprivate var urgency: Urgency? { Urgency(rawValue: rawValue) }
}

/// How pushes reach the phones.
public enum ActivityDelivery: String, Sendable, Hashable, CaseIterable {
    /// One push per phone.
    case tokens
    /// One push for all phones. Requires iOS 18.
    case channel
    /// By channel from iOS 18 on, by token on older versions.
    case hybrid
}

/// Options of a start.
public struct StartOptions: Sendable, Hashable {
    /// The users whose devices show the activity.
    public var users: [String] = []
    /// The devices that show the activity.
    public var devices: [String] = []
    /// Whether every device with a start token for the type shows the activity.
    public var everyDevice = false
    /// The alert. A start with an audience requires one here or in the type's policy.
    public var alert: ChangeAlert?
    /// Nil: routine. A push that starts a card always has priority 10.
    public var urgency: ChangeUrgency?
    /// How pushes reach the phones. It cannot change later.
    public var delivery = ActivityDelivery.tokens
    /// Whether it uses APNs' sandbox environment; false: production if the app has it.
    public var isSandbox = false
    /// When to start; nil: now.
    public var startsAt: Date?
    /// When to end without a request.
    public var endsAt: Date?
    /// After how many seconds phones show the content as outdated.
    public var staleAfterSeconds: Int64?
    /// Orders the app's activities on the phone, the largest first; nil: the phone decides.
    public var relevanceScore: Double?

    /// Without an audience, apps start the activity themselves.
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

/// Options of an update.
public struct UpdateOptions: Sendable, Hashable {
    /// Nil: the card changes without a sound.
    public var alert: ChangeAlert?
    /// Nil: the type's policy decides by the changed fields, or else it is routine.
    public var urgency: ChangeUrgency?
    /// Whether every phone gets a separate push for this change.
    public var mustDeliver = false
    /// Whether to send the update even if its state equals the newest one.
    public var force = false
    /// When it happened. Tally refuses an update that is older than the newest accepted one, or of a time more than five
    /// minutes in the future.
    public var eventTime: Date?
    /// When to post it; nil, or a time in the past: now.
    public var at: Date?
    /// After how many seconds phones show the content as outdated.
    public var staleAfterSeconds: Int64?
    /// Orders the app's activities on the phone, the largest first; nil: the phone decides.
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

/// Options of an end.
public struct EndOptions: Sendable, Hashable {
    /// Nil: the card ends without a sound.
    public var alert: ChangeAlert?
    /// How many seconds the ended card stays, 0 to 14400; nil: the type's policy decides.
    public var dismissAfterSeconds: Int64?
    /// Until when the ended card stays. Set only one of this and ``dismissAfterSeconds``.
    public var dismissAt: Date?
    /// When to end; nil, or a time in the past: now.
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

/// The answer to an accepted change.
public struct AcceptedChange: Sendable, Hashable {
    /// The activity's revision; nil for a scheduled change.
    public let revision: Int64?
    /// Whether the state equals the newest one, so that Tally sends nothing.
    public let isUnchanged: Bool
    /// The schedule's id; nil if the change happened immediately.
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
