import APITypes
import Postgres
import ReportTypes

/// How much room the database takes, and what keeps the server from giving WAL back, which is how a disk fills up that
/// had room enough. How much is left no SQL tells.
struct DiskFacts: Sendable {
    /// A replication slot and the WAL that the server keeps for it.
    struct Slot: Sendable, Equatable {
        let name: String
        let isActive: Bool
        let bytes: Int64
    }

    var bytes: Int64 = 0
    /// The one for which most is kept.
    var slot: Slot?
    /// Whether the last WAL file that was to be archived could not be.
    var archivingFails = false

    /// What a reader that is not far behind has no need of: four times the default of `max_wal_size`.
    static let longestKept: Int64 = 4 << 30

    static func read(from database: Database) async throws -> DiskFacts {
        let answers = try await database.pipeline(
            [
                """
                SELECT pg_database_size(current_database()),
                       current_setting('archive_mode') <> 'off'
                       AND coalesce(last_failed_time > last_archived_time, last_failed_time IS NOT NULL)
                FROM pg_stat_archiver
                """,
                """
                SELECT slot_name::text, active, pg_wal_lsn_diff(
                           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                           restart_lsn
                       )::int8 AS kept
                FROM pg_replication_slots WHERE restart_lsn IS NOT NULL ORDER BY kept DESC LIMIT 1
                """,
            ],
            timeout: Examination.patience
        )
        var facts = DiskFacts()
        if let row = try answers[0].first(as: (Int64, Bool).self) { (facts.bytes, facts.archivingFails) = row }
        if let row = try answers[1].first(as: (String, Bool, Int64).self) {
            facts.slot = Slot(name: row.0, isActive: row.1, bytes: row.2)
        }
        return facts
    }

    // MARK: Judgement

    var check: DoctorCheck {
        var findings: [String] = []
        var advice: [String] = []
        if let slot, slot.bytes > Self.longestKept {
            let reader = slot.isActive ? "whose reader is behind" : "which nobody reads"
            findings.append(
                "\(Self.size(slot.bytes)) of WAL are kept for the replication slot '\(slot.name)', \(reader)"
            )
            advice.append(
                "Let the reader of the slot catch up, or drop it with pg_drop_replication_slot; max_slot_wal_keep_size "
                    + "bounds what is kept."
            )
        }
        if archivingFails {
            findings.append("WAL cannot be archived, and is kept until it can")
            advice.append("Mend archive_command or archive_library: the server's log says why it fails.")
        }
        let size = "the database has \(Self.size(bytes)); how much the disk has left, only its machine can tell"
        guard !findings.isEmpty else { return DoctorCheck("disk", .ok, size) }
        let finding = "The disk fills up: \(findings.joined(separator: "; ")). Besides, \(size)."
        return DoctorCheck("disk", .warning, finding, advice: advice.joined(separator: " "))
    }

    private static func size(_ bytes: Int64) -> String {
        let megabytes = bytes >> 20
        return megabytes < 10_240 ? "\(megabytes) MiB" : "\(megabytes >> 10) GiB"
    }
}
