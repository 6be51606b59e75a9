import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

/// The promises of the design, by their numbers as the simulated lives name them.
extension TallySystem {
    /// What a match has to come to at the end of which all posts were answered and all faults are over: by what phones show,
    /// by what callers were told and by what is on record.
    ///
    /// A daemon that was paused may wake up and send what is old; phones then ignore it.
    func expectPromises(
        after posts: [PostedChange],
        of activities: [FollowedActivity],
        phones: Int64,
        pausedDaemons: Bool = false
    ) async throws {
        let report = try await simulator.report(on: posts)
        var tables = ""
        for activity in activities where !report.isRight {
            let wrong = report.wrong.filter { $0.contains(activity.id.rawValue) }.map {
                String($0.prefix { $0 != " " })
            }
            if !wrong.isEmpty { tables += try await self.tables(of: activity.id, devices: wrong) }
        }
        #expect(report.wrong == [], "promise 2 is broken\n\(tables)")
        #expect(report.phones == phones)
        if !pausedDaemons {
            #expect(report.ignored("older_timestamp") == 0, "promise 3 is broken: time went back for a phone")
        }
        for activity in activities {
            try await expectAccepted(posts.filter { $0.activityID == activity.id }, of: activity.id)
            try await expectRecordedSecondCards(of: activity.id)
        }
        try await expectLivingTokens()
        try await expectOneActivityPerChannel()
    }

    /// Promises 1 and 5: each post took effect once and as it was posted, and the end is final.
    private func expectAccepted(_ posts: [PostedChange], of id: ActivityID) async throws {
        #expect(posts.map(\.revision) == (1...Int64(posts.count)).map(\.self), "promise 1 is broken")
        let rows = try await database.query(
            """
            SELECT c.content_state::text FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(id.rawValue) ORDER BY c.revision
            """
        )
        let stored = try rows.decoded(as: String.self).map { try JSONValue(parsing: $0) }
        for (post, state) in zip(posts, stored) {
            guard let posted = post.contentState else { continue }
            #expect(state == .object(posted), "promise 1 is broken: revision \(post.revision)")
        }
        let activity = try await activity(id)
        #expect(activity.revision == posts.last?.revision)
        #expect((activity.state == .ended) == (posts.last?.kind == .end), "promise 5 is broken")
    }

    /// Promise 6: two cards are possible only where a start was repeated, and the repeat is on record.
    private func expectRecordedSecondCards(of id: ActivityID) async throws {
        let doubled = try await simulator.phones().filter { $0.secondCards > 0 && $0.follows.contains(id.rawValue) }
        let onRecord = try await repeatedStarts(of: id)
        let repeatedCount = try await activity(id).starts.repeated
        #expect(onRecord.count == repeatedCount)
        #expect(Set(doubled.map(\.id)).isSubset(of: onRecord), "promise 6 is broken")
        #expect(doubled.allSatisfy { $0.secondCards == 1 }, "promise 6 is broken")
    }

    /// Promise 9: Apple has rejected no token, so none is kept for rejected, and sending is halted nowhere.
    private func expectLivingTokens() async throws {
        let rejected = try await database.query(
            """
            SELECT (SELECT count(*) FROM start_tokens WHERE state = 'rejected')
                + (SELECT count(*) FROM subscriptions WHERE state = 'rejected') + (SELECT count(*) FROM sending_halts)
            """
        )
        #expect(try rejected.first(as: Int64.self) == 0, "promise 9 is broken")
    }

    /// Promise 11: an activity has one channel at a time, and none has another's.
    private func expectOneActivityPerChannel() async throws {
        let shared = try await database.query(
            """
            SELECT count(*) FROM (
                SELECT activity_key FROM channels WHERE activity_key IS NOT NULL AND lost_at IS NULL
                GROUP BY activity_key HAVING count(*) > 1
            ) AS doubled
            """
        )
        #expect(try shared.first(as: Int64.self) == 0, "promise 11 is broken")
    }
}
