package import APITypes
package import ActivityModel
package import JSON

/// A recorded match: the posts and their times.
package struct ReplayFile: Sendable, Hashable {
    package var title: String?
    package var note: String?
    /// The app of the posts. The command line can replace it.
    package var app: BundleID?
    package var environment: APNSEnvironment?
    package var type: ActivityTypeName
    package var attributes: JSONObject
    /// Every post goes to all of these.
    package var activities: [ReplayActivity]
    /// Sorted by time: one start, updates, and at most one end.
    package var posts: [ReplayPost]
}

/// One activity that gets the posts.
package struct ReplayActivity: Sendable, Hashable {
    package var activityID: ActivityID
    package var delivery: Delivery
    package var audience: Audience
}

/// One post of the match.
package struct ReplayPost: Sendable, Hashable {
    /// Seconds from the start of the recording.
    package var atSeconds: Int64
    package var kind: ChangeKind
    /// A description for the progress bar.
    package var label: String?
    package var urgency: Urgency?
    package var mustDeliver: Bool
    package var dismissAfterSeconds: Int64?
    package var alert: AlertContent?
    /// Required, except for an end.
    package var contentState: JSONObject?
}

extension ReplayFile: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("title", \.title, .string),
        .optional("note", \.note, .string),
        .optional("app", \.app, .bundleID),
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .required("type", \.type, .typeName),
        .required("attributes", \.attributes, .object),
        .required("activities", \.activities, .list(of: .object(ReplayActivity.self))),
        .required("posts", \.posts, .list(of: .object(ReplayPost.self))),
        rule: checkLists,
        make: Self.init
    )

    private static func checkLists(_ reader: inout ObjectReader) {
        if let activities = reader.peek("activities", .list(of: .object(ReplayActivity.self))) {
            if activities.isEmpty {
                reader.refuse("activities", code: FieldError.outOfRange, message: "At least one activity is expected.")
            }
            if Set(activities.map(\.activityID)).count < activities.count {
                reader.refuse("activities", code: FieldError.conflict, message: "Two activities have the same id.")
            }
        }
        if let posts = reader.peek("posts", .list(of: .object(ReplayPost.self))), let flaw = Self.flaw(in: posts) {
            reader.refuse("posts", code: FieldError.invalidValue, message: flaw)
        }
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
}

extension ReplayActivity: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .optional("delivery", \.delivery, .word(Delivery.self), else: .tokens),
        .optional("audience", \.audience, .object(Audience.self), unless: Audience()),
        make: Self.init
    )
}

extension ReplayPost: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("at_seconds", \.atSeconds, .seconds),
        .required("kind", \.kind, .word(ChangeKind.self)),
        .optional("label", \.label, .string),
        .optional("urgency", \.urgency, .word(Urgency.self)),
        .optional("must_deliver", \.mustDeliver, .bool, unless: false),
        .optional("dismiss_after_seconds", \.dismissAfterSeconds, .seconds),
        .optional("alert", \.alert, .object(AlertContent.self)),
        .optional("content_state", \.contentState, .object),
        rule: { reader in
            guard reader.peek("kind", .word(ChangeKind.self)) != .end, !reader.has("content_state") else { return }
            reader.refuse("content_state", code: FieldError.missing, message: "'content_state' is required.")
        },
        make: Self.init
    )
}
