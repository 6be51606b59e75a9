import APITypes
package import ActivityModel
import JSON
import Postgres
import TestSupport

/// The promises of the design, by their numbers as the simulated lives name them.
extension TallySystem {
    /// Judges a run at the end of which all posts were answered and all faults are over.
    ///
    /// Waits for phones to become right, at most so long.
    package func verdict(
        after posts: [PostedChange],
        of activities: [ActivityID],
        allowing allowances: Verdict.Allowances = [],
        within limit: Duration = .seconds(60)
    ) async throws -> Verdict {
        var verdict = Verdict()
        let (report, lost) = try await settledReport(on: posts, within: limit)
        let wrong = report.wrong.filter { !allowances.contains(.lostStarts) || !lost.contains($0) }
        if !wrong.isEmpty {
            let tables = try await tables(of: wrong)
            verdict.broken.append("promise 2 is broken: \(wrong.map(\.description).joined(separator: "; "))\n\(tables)")
        }
        verdict.phones = report.phones
        verdict.right = report.right
        verdict.lostStarts = report.wrong.count - wrong.count
        verdict.repeatedPushes = report.ignored("same timestamp")
        if !allowances.contains(.oldPushes) {
            if report.ignored("older timestamp") > 0 { try await judgeOldPushes(&verdict) }
        }
        for activity in activities {
            try await judgeAccepted(posts.filter { $0.activityID == activity }, of: activity, &verdict)
            try await judgeSecondCards(of: activity, &verdict)
        }
        if !allowances.contains(.rejectedTokens) { try await judgeTokens(&verdict) }
        try await judgeChannels(&verdict)
        return verdict
    }

    /// A report in which every phone is right whose start was not lost, or the last one when the time is over.
    package func settledReport(
        on posts: [PostedChange],
        within limit: Duration
    ) async throws -> (MatchReport, lost: Set<MatchReport.WrongPhone>) {
        let deadline = ContinuousClock.now + limit
        while true {
            let report = try await simulator.report(on: posts, within: .zero)
            if report.isRight { return (report, []) }
            let lost = Set(try await lostStarts(among: report.wrong))
            if lost.count == report.wrong.count || ContinuousClock.now >= deadline { return (report, lost) }
            await pause(.milliseconds(200))
        }
    }

    /// Those without a card whose start was sent twice and came to nothing, as is on record.
    private func lostStarts(among wrong: [MatchReport.WrongPhone]) async throws -> [MatchReport.WrongPhone] {
        let cardless = wrong.filter { $0.why.hasPrefix("shows no card") }
        guard !cardless.isEmpty else { return [] }
        let rows = try await database.query(
            """
            SELECT d.device_id, a.activity_id
            FROM starts AS s JOIN devices AS d USING (device_key) JOIN activities AS a USING (activity_key)
            WHERE s.attempts > 1 AND s.state = 'unknown' AND s.due_at IS NULL
            """
        )
        let lost = Set(try rows.decoded(as: (String, String).self).map { "\($0) \($1)" })
        return cardless.filter { lost.contains("\($0.device) \($0.activity)") }
    }

    /// Promise 3: for one destination time never goes back. A start token is another destination than the channel or
    /// the update token of its card, so what was on its way there when the card was started may be older.
    private func judgeOldPushes(_ verdict: inout Verdict) async throws {
        for phone in try await simulator.phones() {
            let pushes = try await simulator.phone(phone.id).pushes
            for (index, push) in pushes.enumerated() where push["why"] == "older timestamp" {
                let newer = pushes[..<index].last { earlier in
                    earlier["event"] != "start" && earlier["card"] == push["card"]
                        && earlier["timestamp"]?.int64 ?? 0 > push["timestamp"]?.int64 ?? 0
                }
                guard let newer else { continue }
                verdict.broken.append(
                    "promise 3 is broken: time went back for \(phone.id)\n\(newer.text)\n\(push.text)"
                )
            }
        }
    }

    /// Promises 1 and 5: each post took effect once and as it was posted, and the end is final.
    private func judgeAccepted(_ posts: [PostedChange], of id: ActivityID, _ verdict: inout Verdict) async throws {
        let revisions = posts.map(\.revision)
        verdict.expect(
            revisions == (1...max(1, Int64(posts.count))).map(\.self),
            "promise 1 is broken: \(id) answered revisions \(revisions)"
        )
        let rows = try await database.query(
            """
            SELECT c.content_state::text FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(id.rawValue) ORDER BY c.revision
            """
        )
        let stored = try rows.decoded(as: String.self).map { try JSONValue(parsing: $0) }
        verdict.expect(
            stored.count == posts.count,
            "promise 1 is broken: \(id) has \(stored.count) changes of \(posts.count)"
        )
        for (post, state) in zip(posts, stored) {
            guard let posted = post.contentState else { continue }
            verdict.expect(state == .object(posted), "promise 1 is broken: \(id) revision \(post.revision) is another")
        }
        let activity = try await activity(id)
        verdict.expect(
            activity.revision == posts.last?.revision,
            "promise 1 is broken: \(id) is at revision \(activity.revision)"
        )
        verdict.expect(
            (activity.state == .ended) == (posts.last?.kind == .end),
            "promise 5 is broken: \(id) is \(activity.state)"
        )
    }

    /// Promise 6: two cards are possible only where a start was repeated, and the repeat is on record.
    private func judgeSecondCards(of id: ActivityID, _ verdict: inout Verdict) async throws {
        let doubled = try await simulator.phones().filter { $0.secondCards > 0 && $0.follows.contains(id.rawValue) }
        let onRecord = try await repeatedStarts(of: id)
        let repeatedCount = try await activity(id).starts.repeated
        verdict.expect(
            onRecord.count == repeatedCount,
            "promise 6 is broken: \(id) tells of \(repeatedCount) repeated starts, and \(onRecord.count) are on record"
        )
        for phone in doubled {
            verdict.expect(
                onRecord.contains(phone.id) && phone.secondCards == 1,
                "promise 6 is broken: \(phone.id) had \(phone.secondCards) second cards of \(id)"
            )
        }
        verdict.repeatedStarts += onRecord.count
    }

    /// Promise 9: Apple has rejected no token, so none is kept for rejected, and sending is halted nowhere.
    private func judgeTokens(_ verdict: inout Verdict) async throws {
        let rejected = try await database.query(
            """
            SELECT (SELECT count(*) FROM start_tokens WHERE state = 'rejected')
                + (SELECT count(*) FROM subscriptions WHERE state = 'rejected') + (SELECT count(*) FROM sending_halts)
            """
        ).first(as: Int64.self)
        verdict.expect(rejected == 0, "promise 9 is broken: \(rejected ?? 0) tokens or halts")
    }

    /// Promise 11: an activity has one channel at a time, and none has another's.
    private func judgeChannels(_ verdict: inout Verdict) async throws {
        let shared = try await database.query(
            """
            SELECT count(*) FROM (
                SELECT activity_key FROM channels WHERE activity_key IS NOT NULL AND lost_at IS NULL
                GROUP BY activity_key HAVING count(*) > 1
            ) AS doubled
            """
        ).first(as: Int64.self)
        verdict.expect(shared == 0, "promise 11 is broken: \(shared ?? 0) activities have two channels")
    }

    private func tables(of wrong: [MatchReport.WrongPhone]) async throws -> String {
        var text = ""
        for (activity, phones) in Dictionary(grouping: wrong, by: \.activity).sorted(by: { $0.key < $1.key }) {
            guard let id = ActivityID(activity) else { continue }
            text += try await tables(of: id, devices: phones.map(\.device))
        }
        return text
    }
}
