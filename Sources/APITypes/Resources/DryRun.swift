package import ActivityModel
package import JSON

/// The answer to a start, update or end with `?dry_run=true`, 200: the pushes that it would send. A dry run writes
/// nothing.
package struct DryRunAnswer: Sendable, Hashable {
    package var activityID: ActivityID
    /// The revision that the change would get.
    package var revision: Revision
    /// The `aps.timestamp` that it would get if it were accepted now. If it is `unchanged`, that of the newest state: nil
    /// until it is stamped.
    package var timestamp: Timestamp?
    /// Whether nothing would be sent, because the state is the newest one or the same start was already accepted.
    package var unchanged: Bool
    /// The time of a scheduled change. The pushes are those that would be sent now.
    package var at: Instant?
    /// The devices that the start would reach now; nil for an update or an end.
    package var audience: AudienceCounts?
    /// The devices and cards that would get no push, counted by reason.
    package var withheld: [String: Int]
    /// Whether sending is halted: only test pushes would leave until it is resumed, by an operator or by a good test push.
    package var isHalted: Bool
    /// One for each distinct body and set of header fields.
    package var pushes: [PlannedPush]

    package init(
        activityID: ActivityID,
        revision: Revision,
        timestamp: Timestamp?,
        unchanged: Bool = false,
        at: Instant? = nil,
        audience: AudienceCounts? = nil,
        withheld: [String: Int] = [:],
        isHalted: Bool = false,
        pushes: [PlannedPush] = []
    ) {
        self.activityID = activityID
        self.revision = revision
        self.timestamp = timestamp
        self.unchanged = unchanged
        self.at = at
        self.audience = audience
        self.withheld = withheld
        self.isHalted = isHalted
        self.pushes = pushes
    }
}

extension DryRunAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("revision", \.revision, .int64),
        .nullable("timestamp", \.timestamp, .int64),
        .optional("unchanged", \.unchanged, .bool, unless: false),
        .optional("at", \.at, .time),
        .optional("audience", \.audience, .object(AudienceCounts.self)),
        .optional("withheld", \.withheld, .counts, unless: [:]),
        .optional("halted", \.isHalted, .bool, unless: false),
        .required("pushes", \.pushes, .list(of: .object(PlannedPush.self))),
        make: Self.init
    )
}

/// A push that would be sent.
package struct PlannedPush: Sendable, Hashable {
    /// The kind of destination.
    package enum Destination: String, Sendable, Hashable, CaseIterable {
        case startTokens = "start_tokens"
        case updateTokens = "update_tokens"
        case channel
    }

    package var event: ChangeKind
    package var to: Destination
    /// The number of destinations that would get it now; 1 for a channel.
    package var destinations: Int
    /// The budget that it would use: `ordinary`, `frequent` or `channel`; nil for a start.
    package var budgetClass: String?
    package var priority: PushPriority
    /// Why the push has this priority: a word and a sentence.
    package var reason: String
    package var explanation: String
    /// The path of the APNs request. `{token}` replaces the token.
    package var path: String
    /// The header fields of the request, except the authorization.
    package var headers: JSONObject
    package var bytes: Int
    package var body: JSONValue

    package init(
        event: ChangeKind,
        to: Destination,
        destinations: Int,
        budgetClass: String? = nil,
        priority: PushPriority,
        reason: String,
        explanation: String,
        path: String,
        headers: JSONObject,
        bytes: Int,
        body: JSONValue
    ) {
        self.event = event
        self.to = to
        self.destinations = destinations
        self.budgetClass = budgetClass
        self.priority = priority
        self.reason = reason
        self.explanation = explanation
        self.path = path
        self.headers = headers
        self.bytes = bytes
        self.body = body
    }
}

extension PlannedPush: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("event", \.event, .word(ChangeKind.self)),
        .required("to", \.to, .word(Destination.self)),
        .required("destinations", \.destinations, .int),
        .optional("class", \.budgetClass, .string),
        .required("priority", \.priority, .priority),
        .required("reason", \.reason, .string),
        .required("explanation", \.explanation, .string),
        .required("path", \.path, .string),
        .required("headers", \.headers, .object),
        .required("bytes", \.bytes, .int),
        .required("body", \.body, .any),
        make: Self.init
    )
}
