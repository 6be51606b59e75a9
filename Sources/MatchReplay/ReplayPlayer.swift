import APITypes
package import ActivityModel
package import JSON

/// Posts a recorded match, each post at its time.
package struct ReplayPlayer: Sendable {
    /// The server's answer to one post.
    package struct Acceptance: Sendable, Equatable {
        package var revision: Revision
        /// Nil until the change is stamped.
        package var timestamp: Timestamp?
    }

    /// One accepted post.
    package struct Entry: Sendable, Equatable {
        package var activityID: ActivityID
        package var kind: ChangeKind
        package var acceptance: Acceptance
        /// UNIX milliseconds just before the first try.
        package var postedAt: Int64
        /// UNIX milliseconds just after the answer.
        package var acceptedAt: Int64
        package var contentState: JSONObject?
    }

    let file: ReplayFile
    /// Recorded seconds per real second.
    let speed: Double
    /// Posts to one activity, with retries until its own deadline.
    let post: @Sendable (ReplayPost, ReplayActivity) async throws -> Acceptance
    /// The wall clock, in UNIX milliseconds.
    let now: @Sendable () -> Int64

    package init(
        file: ReplayFile,
        speed: Double,
        post: @escaping @Sendable (ReplayPost, ReplayActivity) async throws -> Acceptance,
        now: @escaping @Sendable () -> Int64
    ) {
        (self.file, self.speed, self.post, self.now) = (file, speed, post, now)
    }

    /// Plays from the first post to the last.
    ///
    /// A post goes to all activities in parallel. The next one waits for its time and for all answers, so that every
    /// activity gets its posts in order.
    ///
    /// - Parameters:
    ///   - clock: Measures the pauses.
    ///   - accepted: Called for each accepted post.
    ///   - advanced: Called when all activities have accepted a post, with the number of completed posts.
    /// - Throws: The error of a post, after the other activities have answered the same post.
    package func play(
        clock: some Clock<Duration>,
        accepted: (Entry) throws -> Void,
        advanced: (Int) -> Void
    ) async throws {
        let beginning = clock.now
        for (index, post) in file.posts.enumerated() {
            try await clock.sleep(until: beginning.advanced(by: delay(of: post)), tolerance: nil)
            var failure: (any Error)?
            await withTaskGroup(of: Result<Entry, any Error>.self) { group in
                for activity in file.activities {
                    group.addTask { await self.send(post, to: activity) }
                }
                for await result in group {
                    do {
                        try accepted(try result.get())
                    } catch {
                        failure = failure ?? error
                    }
                }
            }
            if let failure { throw failure }
            advanced(index + 1)
        }
    }

    /// The time from the start of the replay to a post.
    func delay(of post: ReplayPost) -> Duration {
        let recorded = post.atSeconds - (file.posts.first?.atSeconds ?? 0)
        // A very low speed would exceed Int64.
        return .milliseconds(Int64(min(Double(recorded) * 1_000 / speed, 1e15).rounded()))
    }

    private func send(_ post: ReplayPost, to activity: ReplayActivity) async -> Result<Entry, any Error> {
        let postedAt = now()
        do {
            let acceptance = try await self.post(post, activity)
            let entry = Entry(
                activityID: activity.activityID,
                kind: post.kind,
                acceptance: acceptance,
                postedAt: postedAt,
                acceptedAt: now(),
                contentState: post.contentState
            )
            return .success(entry)
        } catch {
            return .failure(error)
        }
    }
}

extension ReplayPlayer.Entry {
    /// One line of the log.
    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("kind", kind.rawValue)
        fields.add("revision", acceptance.revision)
        fields.add("timestamp", acceptance.timestamp.map { JSONValue.number(JSONNumber($0)) } ?? .null)
        fields.add("posted_at_ms", postedAt)
        fields.add("accepted_at_ms", acceptedAt)
        fields.add("content_state", contentState)
        return fields.json
    }
}

/// Why a replay cannot continue.
package struct ReplayError: Error, Equatable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
