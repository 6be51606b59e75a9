package import ActivityModel
package import JSON

/// A page of the users and devices that an audience names, in the order in which they were added.
package struct AudiencePage: Sendable, Hashable {
    /// Whether every device with a start token for the type belongs to the audience.
    package var allOfType: Bool
    /// All topics of the audience, on every page.
    package var topics: [AudienceTopic]
    package var items: [AudienceMember]
    package var nextCursor: String?

    package init(
        allOfType: Bool,
        topics: [AudienceTopic] = [],
        items: [AudienceMember],
        nextCursor: String? = nil
    ) {
        self.allOfType = allOfType
        self.topics = topics
        self.items = items
        self.nextCursor = nextCursor
    }
}

/// One topic of an audience, and what narrows it.
package struct AudienceTopic: Sendable, Hashable {
    package var topic: Topic
    package var topicsAll: [Topic]
    package var exceptTopics: [Topic]

    package init(topic: Topic, topicsAll: [Topic] = [], exceptTopics: [Topic] = []) {
        self.topic = topic
        self.topicsAll = topicsAll
        self.exceptTopics = exceptTopics
    }
}

extension AudienceTopic: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("topic", \.topic, .topic),
        .optional("topics_all", \.topicsAll, .list(of: .topic), unless: []),
        .optional("except_topics", \.exceptTopics, .list(of: .topic), unless: []),
        make: Self.init
    )
}

/// One user or device that an audience names.
package struct AudienceMember: Sendable, Hashable {
    package var name: UserOrDevice
    /// Whether the device is registered, or the user has a registered device.
    package var isKnown: Bool

    package init(name: UserOrDevice, isKnown: Bool) {
        self.name = name
        self.isKnown = isKnown
    }
}

extension AudiencePage: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("all_of_type", \.allOfType, .bool),
        // Absent from answers of earlier daemons.
        .optional("topics", \.topics, .list(of: .object(AudienceTopic.self)), else: []),
        .required("items", \.items, .list(of: .object(AudienceMember.self))),
        .nullable("next_cursor", \.nextCursor, .string),
        make: Self.init
    )
}

extension AudienceMember: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let user = reader.optional("user_id", .userID)
        let device = reader.optional("device_id", .deviceID)
        let known = reader.required("known", .bool)
        let name = user.map { UserOrDevice.user($0) } ?? device.map { UserOrDevice.device($0) }
        guard reader.finish(), let name, let known else { return nil }
        self.init(name: name, isKnown: known)
    }

    package var json: JSONValue {
        var object = name.json.object ?? JSONObject()
        object["known"] = .bool(isKnown)
        return .object(object)
    }
}
