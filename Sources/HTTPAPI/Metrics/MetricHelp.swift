/// The `# HELP` line of each metric. `docs/reference/metrics.md` has the details.
package enum MetricHelp {
    /// Texts by Prometheus name. They have no quotes and line breaks, which would need escaping.
    package static let texts: [String: String] = [
        "tally_http_requests_total": "Requests to the API. The route is the path with braces, or unmatched.",
        "tally_http_request_duration_seconds": "From the head of a request to its answer.",
        "tally_http_event_readers": "Connections that follow /v1/events.",
        "tally_apns_responses_total":
            "Answers of APNs. Without an answer the status is none, and the reason says why.",
        "tally_apns_request_seconds": "From handing a request to a connection to APNs to its answer.",
        "tally_delivery_seconds": "From the accept of an update or an end to the answer of APNs that took it.",
        "tally_apns_connections": "Connections to APNs, with those being opened or closed.",
        "tally_apns_streams": "Requests to APNs that are under way.",
        "tally_apns_connection_ends_total": "Connections to APNs that take no more requests, and why.",
        "tally_sending_halted": "1 while sending is halted because APNs rejects too many tokens.",
        "tally_sending_halts_total": "Halts of sending that this daemon began.",
        "tally_work_waiting_seconds": "How long the oldest due work of a kind has waited.",
        "tally_leases_held": "Segments that a daemon works on.",
        "tally_leases_stale": "Leases that ran out with work left, and that nobody has taken over.",
        "tally_clock_skew_seconds": "How far the clock of the database is ahead of the clock of this daemon.",
        "tally_build_info": "Always 1. The label is the version of the daemon.",
        "tally_database_reachable": "1 if the database answered the last look at its clock.",
        "tally_token_waits_overdue_total": "Cards whose update token did not come within token_wait_seconds.",
        "tally_activities_deleted_total": "Activities that this daemon deleted after their retention time.",
        "tally_timeline_rows_lost_total": "Rows of the timeline that were dropped because the database was too slow.",
        "tally_channels_known": "Channels at Apple that Tally has a record of.",
        "tally_channels_unknown": "Channels at Apple that Tally has no record of.",
        "tally_channels_at_apple": "Channels in the list of Apple at the last comparison.",
        "tally_channels_left": "Channels that Apple would still give, of 10,000.",
    ]
}
