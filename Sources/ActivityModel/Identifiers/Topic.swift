/// What users and devices follow, such as `team:ajax`: 1 to 128 printable characters, but not `.` or `..`. It exists as
/// long as somebody follows it.
package struct Topic: TextIdentifier {
    /// The most topics of one follower, and of one audience.
    package static let maximumCount = 200

    package let rawValue: String

    package init(stored text: String) { rawValue = text }
}

/// The topics that a ticket allows: one topic, or all topics with a prefix, written as the prefix and `*`.
package struct TopicPattern: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    /// Whether the topic is one of them. Both are ASCII, so bytes are compared, which is faster than characters.
    package func matches(_ topic: Topic) -> Bool {
        rawValue.utf8.last == UInt8(ascii: "*")
            ? topic.rawValue.utf8.starts(with: rawValue.utf8.dropLast()) : topic.rawValue == rawValue
    }
}
