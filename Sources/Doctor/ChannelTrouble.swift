import Postgres
import ReportTypes
import Store

/// Live activities of one app in one environment whose channel Apple does not make, or has lost.
struct ChannelTrouble: Sendable {
    let app: String
    let environment: String
    /// Why Apple does not make their channel; nil: it has lost one.
    let refusal: String?
    /// One of them.
    let example: String
    let activities: Int64

    var check: DoctorCheck {
        let many = activities == 1 ? "the activity '\(example)'" : "\(activities) activities, such as '\(example)'"
        let finding =
            refusal.map { "Apple has not made the channel of \(many): \($0)." }
            ?? "Apple has lost a channel of \(many): cards on it hear nothing any more."
        return DoctorCheck(
            "activity_channels",
            of: "\(app) (\(environment))",
            .warning,
            finding,
            advice: refusal.map(advice) ?? Self.adviceForLoss
        )
    }

    private func advice(for refusal: String) -> String {
        if refusal.contains("FeatureNotEnabled") {
            return "Give the App ID the Broadcast capability in Apple's developer portal. Tally asks again by itself."
        }
        if refusal.contains("CannotCreateChannelConfig") {
            return "Apple has no room for more channels of this app: end activities that are over, and see "
                + "`tally channels reconcile --app \(app)`. Tally asks again by itself."
        }
        return
            "Tally asks again by itself. If it stays, `tally doctor --app \(app) --try-channels` tells whether Apple makes "
            + "any (docs/reference/channels.md)."
    }

    private static let adviceForLoss =
        "Did somebody delete it, or switch off the Broadcast capability? Apps can subscribe their cards to the new channel "
        + "and report them; else end the activity (docs/reference/channels.md)."
}

extension ChannelTrouble {
    /// Reads it, of one app or of all, of one environment or of both.
    static func read(app: String?, environment: String?, from database: Database) async throws -> [ChannelTrouble] {
        let rows = try await database.query(
            """
            SELECT c.bundle_id, c.environment::text, c.refusal, min(a.activity_id), count(DISTINCT c.activity_key)
            FROM (
                SELECT activity_key, bundle_id, environment, reason AS refusal FROM channels AS o
                WHERE \(unescaped: ChannelStanding.isAwaited("o")) AND reason IS NOT NULL
                UNION ALL
                SELECT activity_key, bundle_id, environment, NULL FROM channels AS o
                WHERE NOT \(unescaped: ChannelStanding.serves("o"))
            ) AS c JOIN activities AS a USING (activity_key)
            WHERE a.state = 'live' AND (\(app)::text IS NULL OR c.bundle_id = \(app))
              AND (\(environment)::text IS NULL OR c.environment::text = \(environment))
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """,
            timeout: Examination.patience
        )
        return try rows.decoded(as: (String, String, String?, String, Int64).self).map {
            ChannelTrouble(app: $0, environment: $1, refusal: $2, example: $3, activities: $4)
        }
    }
}
