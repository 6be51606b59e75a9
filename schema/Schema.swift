/// The numbered SQL migrations of this folder, embedded in the binaries.
///
/// They are the one truth about the tables: forward only, applied in order, never edited once released.
package enum Schema {
    /// Every migration this program knows, in order: its number, its name and its SQL text as UTF-8.
    package static let migrations: [(number: Int, name: String, sql: [UInt8])] = [
        (1, "initial", PackageResources.V0001_initial_sql),
        (2, "events", PackageResources.V0002_events_sql),
        (3, "destinations", PackageResources.V0003_destinations_sql),
        (4, "cards", PackageResources.V0004_cards_sql),
        (5, "sending_halts", PackageResources.V0005_sending_halts_sql),
        (6, "pacing", PackageResources.V0006_pacing_sql),
        (7, "channels", PackageResources.V0007_channels_sql),
        (8, "answer_counts", PackageResources.V0008_answer_counts_sql),
        (9, "timeline", PackageResources.V0009_timeline_sql),
        (10, "channel_alerts", PackageResources.V0010_channel_alerts_sql),
        (11, "change_events", PackageResources.V0011_change_events_sql),
        (12, "pushes", PackageResources.V0012_pushes_sql),
        (13, "audit", PackageResources.V0013_audit_sql),
        (14, "versions", PackageResources.V0014_versions_sql),
        (15, "lookups_by_device", PackageResources.V0015_lookups_by_device_sql),
        (16, "rings", PackageResources.V0016_rings_sql),
        (17, "request_origins", PackageResources.V0017_request_origins_sql),
        (18, "retention", PackageResources.V0018_retention_sql),
        (19, "accepting", PackageResources.V0019_accepting_sql),
        (20, "lookups_by_id", PackageResources.V0020_lookups_by_id_sql),
        (21, "audit_retention", PackageResources.V0021_audit_retention_sql),
        (22, "ledger", PackageResources.V0022_ledger_sql),
        (23, "enrolment", PackageResources.V0023_enrolment_sql),
        (24, "alert_stamps", PackageResources.V0024_alert_stamps_sql),
        (25, "unsent", PackageResources.V0025_unsent_sql),
        (26, "pace", PackageResources.V0026_pace_sql),
        (27, "installations", PackageResources.V0027_installations_sql),
        (28, "start_alerts", PackageResources.V0028_start_alerts_sql),
        (29, "uncounted", PackageResources.V0029_uncounted_sql),
        (30, "push_queues", PackageResources.V0030_push_queues_sql),
        (31, "lost_channels", PackageResources.V0031_lost_channels_sql),
        (32, "suspects", PackageResources.V0032_suspects_sql),
        (33, "lifted_halts", PackageResources.V0033_lifted_halts_sql),
        (34, "bounded_reads", PackageResources.V0034_bounded_reads_sql),
        (35, "token_prefixes", PackageResources.V0035_token_prefixes_sql),
    ]
}
