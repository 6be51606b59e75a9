import APITypes
import Postgres
import ReportTypes
import Store

/// A webhook that gets no events: Tally has paused it, or its last request failed.
struct WebhookFacts: Sendable {
    let app: String
    let id: String
    /// Nil while requests are repeated.
    let pausedFor: Duration?
    let failingFor: Duration
    let error: String?

    /// How long requests may fail before it is worth a word: a restart of the receiver is not.
    static let patience = Duration.seconds(900)

    /// How many webhooks are failing, and how many Tally has paused. What an operator has paused does not count.
    struct Counts: Sendable {
        let failing: Int64
        let paused: Int64
    }

    static func counts(in database: Database) async throws -> Counts {
        let rows = try await database.query(
            """
            SELECT count(*) FILTER (WHERE pause_reason IS NULL AND failing_since IS NOT NULL),
                   count(*) FILTER (WHERE pause_reason <> 'operator')
            FROM webhooks
            """,
            timeout: Examination.patience
        )
        guard let (failing, paused) = try rows.first(as: (Int64, Int64).self) else {
            return Counts(failing: 0, paused: 0)
        }
        return Counts(failing: failing, paused: paused)
    }

    var check: DoctorCheck? {
        let subject = "\(id) of \(app)"
        let words = error.map { " The last error: \($0)." } ?? ""
        if let pausedFor {
            let finding = "Tally paused the webhook \(Self.text(pausedFor)) ago.\(words)"
            let advice =
                "Repair the receiver. Then `tally webhooks put \(id) URL --app \(app)`, with the same options, resumes "
                + "where it stopped. Or delete it: `tally webhooks delete \(id) --app \(app)`."
            return DoctorCheck("webhooks", of: subject, .warning, finding, advice: advice)
        }
        guard failingFor >= Self.patience else { return nil }
        let finding = "Requests to the webhook have failed for \(Self.text(failingFor)).\(words)"
        let advice =
            "Repair the receiver: Tally pauses the webhook after 24 hours. See `tally webhooks show \(id) --app \(app)`."
        return DoctorCheck("webhooks", of: subject, .warning, finding, advice: advice)
    }

    private static func text(_ time: Duration) -> String {
        let minutes = Int(time / .seconds(60))
        switch minutes {
        case ..<120: return "\(minutes) min"
        case ..<2_880: return "\(minutes / 60) h"
        default: return "\(minutes / 1_440) days"
        }
    }
}

extension Examination {
    /// More are counted, but not named one by one.
    private static let mostNamed = 50

    /// Webhooks whose receivers get no events. Nothing is said if there is no webhook.
    func webhookChecks() async throws -> [DoctorCheck] {
        let answers = try await database.pipeline(
            [
                "SELECT count(*) FROM webhooks WHERE \(app)::text IS NULL OR bundle_id = \(app)",
                """
                SELECT bundle_id, webhook_id, extract(epoch FROM clock_timestamp() - paused_at)::float8,
                       coalesce(extract(epoch FROM clock_timestamp() - failing_since), 0)::float8, last_error
                FROM webhooks
                WHERE (\(app)::text IS NULL OR bundle_id = \(app)) AND coalesce(pause_reason, '') <> 'operator'
                  AND (pause_reason IS NOT NULL OR failing_since IS NOT NULL)
                ORDER BY pause_reason IS NULL, bundle_id, webhook_id LIMIT \(Self.mostNamed)
                """,
            ],
            timeout: Self.patience
        )
        let facts = try answers[1].decoded(as: (String, String, Double?, Double, String?).self).map {
            app,
            id,
            paused,
            failing,
            error in
            WebhookFacts(
                app: app,
                id: id,
                pausedFor: paused.map { .seconds($0) },
                failingFor: .seconds(failing),
                error: error
            )
        }
        let checks = facts.compactMap(\.check)
        guard checks.isEmpty, let count = try answers[0].single(Int64.self), count > 0 else { return checks }
        return [DoctorCheck("webhooks", .ok, "none of \(count) is paused")]
    }

    /// Apps whose ticket keys all end soon. An end is set by an operator, who may forget to make the next key.
    func ticketKeyChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT bundle_id, extract(epoch FROM max(revoked_at) - clock_timestamp())::float8 FROM ticket_keys
            WHERE (\(app)::text IS NULL OR bundle_id = \(app))
            GROUP BY bundle_id
            HAVING bool_and(revoked_at IS NOT NULL)
               AND max(revoked_at) BETWEEN clock_timestamp() AND clock_timestamp() + interval '7 days'
            ORDER BY bundle_id
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, Double).self).map { (bundleID: String, seconds: Double) in
            DoctorCheck(
                "ticket_keys",
                of: bundleID,
                .warning,
                "The last ticket key ends in \(Int(seconds / 3_600)) h. From then on, signed tickets are refused.",
                advice:
                    "Make a new key with `tally apps ticket-key create \(bundleID)`, and let the backend sign with it."
            )
        }
    }
}
