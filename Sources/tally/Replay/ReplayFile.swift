import APITypes
import ActivityModel
import JSON

/// A recorded match: the posts and their times.
struct ReplayFile: Sendable, Hashable {
    var title: String?
    var note: String?
    /// The app of the posts. The command line can replace it.
    var app: BundleID?
    var environment: APNSEnvironment?
    var type: ActivityTypeName
    var attributes: JSONObject
    /// Every post goes to all of these.
    var activities: [ReplayActivity]
    /// Sorted by time: one start, updates, and at most one end.
    var posts: [ReplayPost]
}

/// One activity that gets the posts.
struct ReplayActivity: Sendable, Hashable {
    var activityID: ActivityID
    var delivery: Delivery
    var audience: Audience
}

/// One post of the match.
struct ReplayPost: Sendable, Hashable {
    /// Seconds from the start of the recording.
    var atSeconds: Int64
    var kind: ChangeKind
    /// A description for the progress bar.
    var label: String?
    var urgency: Urgency?
    var mustDeliver: Bool
    var dismissAfterSeconds: Int64?
    var alert: AlertContent?
    /// Required, except for an end.
    var contentState: JSONObject?
}

extension ReplayFile: APIRequest {
    init?(reader: inout ObjectReader) {
        let title = reader.optional("title", .string)
        let note = reader.optional("note", .string)
        let app = reader.optional("app", .bundleID)
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let type = reader.required("type", .typeName)
        let attributes = reader.required("attributes", .object)
        let activities = reader.required("activities", .list(of: .object(ReplayActivity.self)))
        let posts = reader.required("posts", .list(of: .object(ReplayPost.self)))
        if let activities {
            if activities.isEmpty {
                reader.refuse("activities", code: FieldError.outOfRange, message: "At least one activity is expected.")
            }
            if Set(activities.map(\.activityID)).count < activities.count {
                reader.refuse("activities", code: FieldError.conflict, message: "Two activities have the same id.")
            }
        }
        if let posts, let flaw = Self.flaw(in: posts) {
            reader.refuse("posts", code: FieldError.invalidValue, message: flaw)
        }
        guard reader.finish(), let type, let attributes, let activities, let posts else { return nil }
        self.init(
            title: title,
            note: note,
            app: app,
            environment: environment,
            type: type,
            attributes: attributes,
            activities: activities,
            posts: posts
        )
    }

    /// Why a list of posts cannot be played; nil if it can.
    private static func flaw(in posts: [ReplayPost]) -> String? {
        guard posts.first?.kind == .start else { return "The first post must be the start." }
        if posts.dropFirst().contains(where: { $0.kind == .start }) { return "Only the first post may be a start." }
        if posts.dropLast().contains(where: { $0.kind == .end }) { return "Only the last post may be an end." }
        for (before, after) in zip(posts, posts.dropFirst()) where after.atSeconds <= before.atSeconds {
            return "The post at \(after.atSeconds) s does not come after the one at \(before.atSeconds) s."
        }
        return nil
    }

    var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("title", title)
        fields.add("note", note)
        fields.add("app", app?.rawValue)
        fields.add("environment", environment?.rawValue)
        fields.add("type", type.rawValue)
        fields.add("attributes", attributes)
        fields.add("activities", activities)
        fields.add("posts", posts)
        return fields.json
    }
}

extension ReplayActivity: APIRequest, FieldwiseValue {
    static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .optional("delivery", \.delivery, .word(Delivery.self), else: .tokens),
        .optional("audience", \.audience, .object(Audience.self), unless: Audience()),
        make: Self.init
    )
}

extension ReplayPost: APIRequest {
    init?(reader: inout ObjectReader) {
        let atSeconds = reader.required("at_seconds", .seconds)
        let kind = reader.required("kind", .word(ChangeKind.self))
        let label = reader.optional("label", .string)
        let urgency = reader.optional("urgency", .word(Urgency.self))
        let mustDeliver = reader.optional("must_deliver", .bool)
        let dismissAfterSeconds = reader.optional("dismiss_after_seconds", .seconds)
        let alert = reader.optional("alert", .alert)
        let contentState =
            kind == .end ? reader.optional("content_state", .object) : reader.required("content_state", .object)
        guard reader.finish(), let atSeconds, let kind else { return nil }
        self.init(
            atSeconds: atSeconds,
            kind: kind,
            label: label,
            urgency: urgency,
            mustDeliver: mustDeliver ?? false,
            dismissAfterSeconds: dismissAfterSeconds,
            alert: alert,
            contentState: contentState
        )
    }

    var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("at_seconds", atSeconds)
        fields.add("kind", kind.rawValue)
        fields.add("label", label)
        fields.add("urgency", urgency?.rawValue)
        if mustDeliver { fields.add("must_deliver", true) }
        fields.add("dismiss_after_seconds", dismissAfterSeconds)
        fields.add("alert", alert?.json)
        fields.add("content_state", contentState)
        return fields.json
    }
}
