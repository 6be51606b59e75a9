import APITypes
import ActivityModel

/// The change of one request to the topics of one follower.
struct TopicChange: Sendable, Equatable {
    /// Not followed before, in the order of their names.
    let added: [Topic]
    /// Followed before, in the order of their names.
    let removed: [Topic]
    /// All that is followed from now on, in the order of the names.
    let result: [Topic]

    var isNone: Bool { added.isEmpty && removed.isEmpty }

    /// `field`: the field of the request that is to blame for too many topics.
    ///
    /// - Throws: 422 if the follower would have more than ``Topic/maximumCount`` topics.
    private init(from stored: Set<Topic>, to wanted: Set<Topic>, field: String) throws(Problem) {
        guard wanted.count <= Topic.maximumCount else {
            let message = "At most \(Topic.maximumCount) topics are followed; there would be \(wanted.count)."
            throw .invalidRequest(at: [field], code: FieldError.outOfRange, message)
        }
        added = wanted.subtracting(stored).sorted()
        removed = stored.subtracting(wanted).sorted()
        result = wanted.sorted()
    }

    /// The change that a request makes.
    init(_ request: TopicsRequest, of stored: Set<Topic>) throws(Problem) {
        switch request {
        case .whole(let topics): try self.init(from: stored, to: Set(topics), field: "topics")
        case .change(let add, let remove):
            try self.init(from: stored, to: stored.subtracting(remove).union(add), field: "add")
        }
    }

    /// The change that a report of a device makes: topics that its ticket does not allow stay as they are.
    init(reported topics: [Topic], allowed: [TopicPattern]?, of stored: Set<Topic>) throws(Problem) {
        let kept: Set<Topic> =
            allowed.map { patterns in stored.filter { topic in !patterns.contains { $0.matches(topic) } } } ?? []
        try self.init(from: stored, to: kept.union(topics), field: "topics")
    }
}
