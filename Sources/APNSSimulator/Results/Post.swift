package import APITypes
package import ActivityModel
package import JSON

/// One change that Tally accepted: a line of the JSON Lines file that `tally replay` writes.
package struct Post: Sendable, Hashable {
    package var activityID: ActivityID
    package var revision: Revision
    /// UNIX seconds; nil if it was not stamped at its acceptance.
    package var timestamp: Timestamp?
    /// When the request was sent, in milliseconds since 1970.
    package var postedAt: Int64
    /// Nil for an end without content: the newest accepted content stays.
    package var contentState: JSONValue?
    package var kind: ChangeKind

    package init(
        activityID: ActivityID,
        revision: Revision,
        timestamp: Timestamp?,
        postedAt: Int64,
        contentState: JSONValue?,
        kind: ChangeKind
    ) {
        self.activityID = activityID
        self.revision = revision
        self.timestamp = timestamp
        self.postedAt = postedAt
        self.contentState = contentState
        self.kind = kind
    }

    /// Reads JSON Lines. Skips empty lines.
    ///
    /// - Throws: `Problem`, whose detail names the line.
    package static func read(lines bytes: [UInt8]) throws(Problem) -> [Post] {
        var posts: [Post] = []
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated() where !line.isEmpty
        {
            do {
                posts.append(try Post(json: try JSONValue.parse(Array(line))))
            } catch {
                throw .invalidJSON("Line \(index + 1) of the posts is no accepted post: \(error)")
            }
        }
        return posts
    }
}

extension Post: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("revision", \.revision, .int64),
        .optional("timestamp", \.timestamp, .int64),
        .required("posted_at_ms", \.postedAt, .int64),
        .optional("content_state", \.contentState, .any),
        .required("kind", \.kind, .word(ChangeKind.self)),
        make: Self.init
    )
}
