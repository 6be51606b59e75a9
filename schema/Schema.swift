/// The numbered SQL migrations of this folder, embedded in the binaries.
///
/// The first five are one baseline, a file for each room. They document every table. Later migrations go forward only,
/// are applied in order, and are never edited once released.
package enum Schema {
    /// Every migration this program knows, in order: its number, its name and its SQL text as UTF-8.
    package static let migrations: [(number: Int, name: String, sql: [UInt8])] = [
        (1, "registry", PackageResources.V0001_registry_sql),
        (2, "intake", PackageResources.V0002_intake_sql),
        (3, "channels", PackageResources.V0003_channels_sql),
        (4, "delivery", PackageResources.V0004_delivery_sql),
        (5, "record", PackageResources.V0005_record_sql),
        (6, "rejudgements", PackageResources.V0006_rejudgements_sql),
        (7, "topics", PackageResources.V0007_topics_sql),
        (8, "receipts", PackageResources.V0008_receipts_sql),
        (9, "continuations", PackageResources.V0009_continuations_sql),
        (10, "pending_cards", PackageResources.V0010_pending_cards_sql),
        (11, "follower_counts", PackageResources.V0011_follower_counts_sql),
        (12, "lighter_follows", PackageResources.V0012_lighter_follows_sql),
        (13, "sent_with_ring", PackageResources.V0013_sent_with_ring_sql),
        (14, "device_token_states", PackageResources.V0014_device_token_states_sql),
        (15, "rejected_device_tokens", PackageResources.V0015_rejected_device_tokens_sql),
        (16, "signs_of_life", PackageResources.V0016_signs_of_life_sql),
        (17, "pushes_by_app", PackageResources.V0017_pushes_by_app_sql),
        (18, "spent_units", PackageResources.V0018_spent_units_sql),
        (19, "turns_of_webhooks", PackageResources.V0019_turns_of_webhooks_sql),
        (20, "settings_of_daemons", PackageResources.V0020_settings_of_daemons_sql),
    ]
}
