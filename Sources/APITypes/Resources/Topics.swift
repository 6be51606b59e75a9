package import ActivityModel
package import JSON

/// `PUT …/topics` of a user or a device: the whole list, or what changes in it.
package enum TopicsRequest: Sendable, Hashable {
    /// The follower follows these topics and no others.
    case whole([Topic])
    /// A topic in both lists is added.
    case change(add: [Topic], remove: [Topic])
}

extension TopicsRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let topics = reader.optional("topics", .topics)
        let add = reader.optional("add", .topics)
        let remove = reader.optional("remove", .topics)
        let isChange = reader.has("add") || reader.has("remove")
        if reader.has("topics"), isChange {
            let message = "'topics' is the whole list; 'add' and 'remove' change it."
            reader.refuse("topics", code: FieldError.conflict, message: message)
        } else if !reader.has("topics"), !isChange {
            reader.refuse(code: FieldError.missing, message: "'topics', 'add' or 'remove' is required.")
        }
        guard reader.finish() else { return nil }
        self = topics.map { .whole($0) } ?? .change(add: add ?? [], remove: remove ?? [])
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch self {
        case .whole(let topics):
            fields.add("topics", words: topics.map(\.rawValue))
        case .change(let add, let remove):
            if !add.isEmpty || remove.isEmpty { fields.add("add", words: add.map(\.rawValue)) }
            if !remove.isEmpty { fields.add("remove", words: remove.map(\.rawValue)) }
        }
        return fields.json
    }
}

/// The topics of a user or a device, in the order of their names.
package struct FollowedTopics: Sendable, Hashable {
    package var topics: [Topic]

    package init(topics: [Topic]) {
        self.topics = topics
    }
}

extension FollowedTopics: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("topics", \.topics, .list(of: .topic)),
        make: Self.init
    )
}

/// A topic that somebody follows.
package struct TopicResource: Sendable, Hashable {
    package var topic: Topic
    /// Users who follow it. Each counts once, whatever devices the user has.
    package var users: Int
    /// Single devices that follow it.
    package var devices: Int

    package init(topic: Topic, users: Int, devices: Int) {
        self.topic = topic
        self.users = users
        self.devices = devices
    }
}

extension TopicResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("topic", \.topic, .topic),
        .required("users", \.users, .int),
        .required("devices", \.devices, .int),
        make: Self.init
    )
}

extension FieldType where Value == Topic {
    package static var topic: Self { id("A topic of " + callerIDCharacters) }
}

extension FieldType where Value == [Topic] {
    /// At most as many topics as a follower or an audience may have.
    package static var topics: Self { list(of: .topic).counting(0...Topic.maximumCount, "topics") }
}

extension FieldType where Value == [TopicPattern] {
    /// What a ticket allows.
    package static var topicPatterns: Self {
        list(of: .id("A topic, or a prefix and '*',")).counting(0...RegistrationTicketRequest.maximumTopics, "topics")
    }
}
