package import ActivityModel
import JSON

/// The devices that an activity is started on. This is a standing rule until the end: later devices that match are
/// started too.
package struct Audience: Sendable, Hashable {
    package var users: [UserID]
    package var devices: [DeviceID]
    /// Every device that has a start token for the type.
    package var allOfType: Bool
    /// Everybody who follows one of these topics, within ``topicsAll`` and ``exceptTopics``.
    package var topics: [Topic]
    /// Followers of ``topics`` must follow all of these as well.
    package var topicsAll: [Topic]
    /// Followers of ``topics`` who follow one of these do not belong to the audience.
    package var exceptTopics: [Topic]

    package init(
        users: [UserID] = [],
        devices: [DeviceID] = [],
        allOfType: Bool = false,
        topics: [Topic] = [],
        topicsAll: [Topic] = [],
        exceptTopics: [Topic] = []
    ) {
        self.users = users
        self.devices = devices
        self.allOfType = allOfType
        self.topics = topics
        self.topicsAll = topicsAll
        self.exceptTopics = exceptTopics
    }

    /// Whether it names nobody. Apps then start the activity themselves.
    package var isEmpty: Bool { !namesMembers && !allOfType && topics.isEmpty }

    /// Whether it names users or devices.
    package var namesMembers: Bool { !users.isEmpty || !devices.isEmpty }

    /// Whether ``topicsAll`` or ``exceptTopics`` narrow the topics.
    package var narrowsTopics: Bool { !topicsAll.isEmpty || !exceptTopics.isEmpty }
}

extension Audience: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("users", \.users, .list(of: .userID), unless: []),
        .optional("devices", \.devices, .list(of: .deviceID), unless: []),
        .optional("all_of_type", \.allOfType, .bool, unless: false),
        .optional("topics", \.topics, .topics, unless: []),
        .optional("topics_all", \.topicsAll, .topics, unless: []),
        .optional("except_topics", \.exceptTopics, .topics, unless: []),
        rule: { reader in
            let namesNone = !reader.has("topics") || reader.object["topics"]?.array?.isEmpty == true
            for name in ["topics_all", "except_topics"]
            where namesNone && reader.object[name]?.array?.isEmpty == false {
                reader.refuse(name, code: FieldError.conflict, message: "'\(name)' narrows 'topics', which names none.")
            }
        },
        make: Self.init
    )
}

/// `POST …/activities/{id}/audience`. At least one of `add` and `remove` is required.
package struct AudienceRequest: Sendable, Hashable {
    package var add: Audience?
    package var remove: Audience?
    /// The alert of starts from now on; nil keeps the current one.
    package var alert: AlertContent?

    package init(add: Audience? = nil, remove: Audience? = nil, alert: AlertContent? = nil) {
        self.add = add
        self.remove = remove
        self.alert = alert
    }
}

extension AudienceRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("add", \.add, .object(Audience.self)),
        .optional("remove", \.remove, .object(Audience.self)),
        .optional("alert", \.alert, .object(AlertContent.self)),
        rule: { reader in
            if !reader.has("add"), !reader.has("remove") {
                reader.refuse(code: FieldError.missing, message: "'add' or 'remove' is required.")
            }
            if reader.peek("remove", .object(Audience.self))?.narrowsTopics == true {
                let message = "'remove' takes 'topics' alone, whatever narrowed them."
                reader.refuse("remove", code: FieldError.conflict, message: message)
            }
            if reader.has("alert"), !reader.has("add") {
                reader.refuse("alert", code: FieldError.conflict, message: "'alert' is for devices that 'add' adds.")
            }
        },
        make: Self.init
    )
}

/// The number of devices that an audience reaches now.
package struct AudienceCounts: Sendable, Hashable {
    /// Registered devices that match.
    package var devices: Int
    /// Named users without a registered device.
    package var unknownUsers: Int
    /// Named devices that are not registered.
    package var unknownDevices: Int
    /// How many users and devices a list of lines has named; nil for other requests.
    package var lines: Int?
    /// The pages in which Tally has stored that list.
    package var pages: Int?
    /// How many of the ``lines`` Tally had stored before this request, under the same idempotency key; nil for none.
    package var skippedLines: Int?

    package init(
        devices: Int = 0,
        unknownUsers: Int = 0,
        unknownDevices: Int = 0,
        lines: Int? = nil,
        pages: Int? = nil,
        skippedLines: Int? = nil
    ) {
        self.devices = devices
        self.unknownUsers = unknownUsers
        self.unknownDevices = unknownDevices
        self.lines = lines
        self.pages = pages
        self.skippedLines = skippedLines
    }
}

extension AudienceCounts: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("devices", \.devices, .int),
        .required("unknown_users", \.unknownUsers, .int),
        // Absent from answers that earlier daemons kept for an idempotency key.
        .optional("unknown_devices", \.unknownDevices, .int, else: 0),
        .optional("lines", \.lines, .int),
        .optional("pages", \.pages, .int),
        .optional("skipped_lines", \.skippedLines, .int),
        make: Self.init
    )
}
