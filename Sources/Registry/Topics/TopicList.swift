import ActivityModel

/// The topics of one device as one text: each once, in the order of their bytes, one a line. No topic has a line break.
///
/// A statement about many devices has one text for each. Postgres compares it, or splits it.
struct TopicList: Sendable, Equatable {
    let text: String

    init(_ topics: [Topic]) {
        var lines: [String] = []
        for topic in topics.map(\.rawValue).sorted() where topic != lines.last { lines.append(topic) }
        text = lines.joined(separator: "\n")
    }

    /// A text that Postgres has made.
    init(stored text: String) { self.text = text }

    var isEmpty: Bool { text.isEmpty }

    var topics: [Topic] { text.split(separator: "\n").map { Topic(stored: String($0)) } }
}
