import ActivityModel

/// SQL about the policy of a type, which is in its row `p` of `activity_types`. What it does not say is as in a new
/// `Policy`.
package enum StoredPolicy {
    /// The condition that a card is ended when its phone leaves the audience by its topics.
    package static func endsOnUnfollow(_ p: String) -> String {
        "coalesce(\(text("on_unfollow", of: p)) = '\(OnUnfollow.end.rawValue)', false)"
    }

    /// The condition that a card gets no updates until it has begun.
    package static func holdsPending(_ p: String) -> String {
        "(\(text("pending_updates", of: p)) IS DISTINCT FROM '\(PendingUpdates.pass.rawValue)')"
    }

    /// How long APNs keeps a start for a phone that is offline.
    package static func startExpiration(_ p: String) -> String {
        seconds("expiration_seconds,start", of: p, else: Policy().expiration.start)
    }

    /// How long a phone has to report the card of a start, before the start is sent once more.
    package static func startRetry(_ p: String) -> String {
        seconds("start_retry_seconds", of: p, else: Policy().startRetrySeconds)
    }

    /// Within which time the starts of a phone count for its start budget.
    package static func startBudgetWindow(_ p: String) -> String {
        seconds("start_budget,window_seconds", of: p, else: Policy().startBudget.windowSeconds)
    }

    /// The age at which a new card is to continue a card; null: never.
    package static func continueAfter(_ p: String) -> String {
        "(\(text("continue_after_hours", of: p))::integer * interval '1 hour')"
    }

    /// The condition that a phone that can show no card is sent an ordinary alert instead.
    package static func fallsBack(_ p: String) -> String {
        "coalesce(\(text("fallback_alert", of: p))::boolean, false)"
    }

    private static func seconds(_ field: String, of p: String, else standard: Int) -> String {
        "(coalesce(\(text(field, of: p))::float8, \(standard)) * interval '1 second')"
    }

    private static func text(_ field: String, of p: String) -> String {
        StoredJSON.text(at: "{\(field)}", of: "\(p).policy")
    }
}
