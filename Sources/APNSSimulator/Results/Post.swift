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

extension Post: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let revision = reader.required("revision", .int64)
        let timestamp = reader.optional("timestamp", .int64)
        let postedAt = reader.required("posted_at_ms", .int64)
        let contentState = reader.optional("content_state", .any)
        let kind = reader.required("kind", .word(ChangeKind.self))
        guard reader.finish(), let activityID, let revision, let postedAt, let kind else { return nil }
        self.init(
            activityID: activityID,
            revision: revision,
            timestamp: timestamp,
            postedAt: postedAt,
            contentState: contentState,
            kind: kind
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("revision", revision)
        fields.add("timestamp", timestamp)
        fields.add("posted_at_ms", postedAt)
        fields.add("content_state", contentState)
        fields.add("kind", kind.rawValue)
        return fields.json
    }
}
