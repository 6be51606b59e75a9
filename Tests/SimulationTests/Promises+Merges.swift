import ActivityModel
import Postgres
import Store
import TestSupport

@testable import APNSTransport
@testable import DeliveryStore

/// Promise 3: a revision that was skipped is recorded as merged, and no other.
extension Universe {
    func checkMerges() async throws {
        let rows = try await clock.database.query(
            """
            SELECT a.activity_id, c.revision, (c.content_state->>'score')::bigint AS score, c.kind::text,
                   c.merged_into, c.is_sent, \(unescaped: SentChange.isSent("c")) AS counts_as_sent
            FROM changes AS c JOIN activities AS a USING (activity_key)
            """
        )
        let updates = apple.with { $0.sent.filter { $0.push.event != "start" } }
        let pushes = Dictionary(grouping: updates) { $0.push.content?.score ?? 0 }
        let changes = try rows.map { try StoredChange($0) }
        for change in changes {
            let (activity, revision) = (change.activity, change.revision)
            let own = pushes[change.score, default: []].filter {
                $0.push.event == change.kind && $0.push.content?.match == activity
            }
            if let merged = change.mergedInto {
                guard !change.isSent, !isKnownToBeSent(own) else {
                    throw BrokenPromise(3, "revision \(revision) of \(activity) was sent, and merged into \(merged)")
                }
                // An end may go without its state, to an app that could not decode it.
                let into = changes.filter { $0.activity == activity && $0.revision == merged }.flatMap { newer in
                    pushes[newer.score, default: []] + (newer.kind == "end" ? pushes[0, default: []] : [])
                }
                guard into.contains(where: Self.mayHaveArrived) || isScheduled(activity) else {
                    throw BrokenPromise(3, "revision \(revision) of \(activity) is merged into \(merged), not sent")
                }
            } else if change.kind == "update", change.countsAsSent, !own.contains(where: Self.mayHaveArrived) {
                throw BrokenPromise(3, "revision \(revision) of \(activity) counts as sent, and was not")
            } else if change.kind == "update", !own.contains(where: Self.mayHaveArrived),
                isJumpedOver(revision, of: activity, updates)
            {
                throw BrokenPromise(3, "revision \(revision) of \(activity) was skipped, and not recorded as merged")
            }
        }
    }

    private struct StoredChange {
        let activity: String
        let revision: Revision
        let score: Int64
        let kind: String
        let mergedInto: Revision?
        let isSent: Bool
        let countsAsSent: Bool

        init(_ row: Row) throws {
            activity = try row["activity_id"]
            revision = try row["revision"]
            score = try row["score"]
            kind = try row["kind"]
            mergedInto = try row["merged_into"]
            isSent = try row["is_sent"]
            countsAsSent = try row["counts_as_sent"]
        }
    }

    private func isScheduled(_ activity: String) -> Bool { matches.first { $0.id == activity }?.isScheduled ?? false }

    private static func mayHaveArrived(_ sent: Apple.Sent) -> Bool {
        sent.outcome.isAccepted || sent.outcome.class == .unknown
    }

    /// What a daemon has sent that died before it had stored that, nobody knows of.
    private func isKnownToBeSent(_ pushes: [Apple.Sent]) -> Bool {
        let broken = apple.with { $0.brokenTurns }
        return pushes.contains { Self.mayHaveArrived($0) && !broken.contains($0.turn.number) }
    }

    /// Whether it is on record that some destination was sent an older revision and then a newer one. The end of a single
    /// card is no push of a change, though it carries the newest state.
    private func isJumpedOver(_ revision: Revision, of activity: String, _ sent: [Apple.Sent]) -> Bool {
        guard let match = matches.first(where: { $0.id == activity }) else { return false }
        // A post whose first answer got lost is younger than its number says.
        let revisions = Dictionary(match.accepted.map { ($0.score, $0.revision) }, uniquingKeysWith: min)
        let ends = Set(match.accepted.filter { $0.kind == .end }.map(\.score))
        let broken = apple.with { $0.brokenTurns }
        let pushes = sent.filter {
            guard let content = $0.push.content, content.match == activity else { return false }
            return ($0.push.event != "end" || ends.contains(content.score)) && $0.outcome.isAccepted
                && !broken.contains($0.turn.number)
        }
        return Dictionary(grouping: pushes, by: \.destination).values.contains { pushes in
            let had = pushes.compactMap { revisions[$0.push.content?.score ?? 0] }
            return had.contains { $0 < revision } && had.contains { $0 > revision }
        }
    }
}
