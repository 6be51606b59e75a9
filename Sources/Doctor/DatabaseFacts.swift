import APITypes
import Postgres
import ReportTypes

/// What the database says of itself, and what is to be thought of it.
struct DatabaseFacts: Sendable {
    var versionNumber: Int32 = 0
    var version = ""
    /// By name, as `SHOW` tells them.
    var settings: [String: String] = [:]
    var isStandby = false
    var connections: Int64 = 0
    var maximumConnections: Int32 = 0

    /// The oldest major version that Tally is tested with.
    static let oldestVersion: Int32 = 15

    private static let settingNames = [
        "fsync", "full_page_writes", "synchronous_commit", "autovacuum", "server_encoding", "transaction_read_only",
    ]

    static func read(from database: Database) async throws -> DatabaseFacts {
        let answers = try await database.pipeline(
            [
                """
                SELECT current_setting('server_version_num')::int4, current_setting('server_version'), pg_is_in_recovery(),
                       (SELECT coalesce(sum(numbackends), 0)::int8 FROM pg_stat_database),
                       current_setting('max_connections')::int4
                """,
                "SELECT name, current_setting(name) FROM unnest(\(settingNames)) AS name",
            ],
            timeout: Examination.patience
        )
        var facts = DatabaseFacts()
        if let row = try answers[0].first(as: (Int32, String, Bool, Int64, Int32).self) {
            (facts.versionNumber, facts.version, facts.isStandby) = (row.0, row.1, row.2)
            (facts.connections, facts.maximumConnections) = (row.3, row.4)
        }
        for (name, value) in try answers[1].decoded(as: (String, String).self) { facts.settings[name] = value }
        return facts
    }

    // MARK: Judgement

    var checks: [DoctorCheck] { [versionCheck, settingsCheck, connectionsCheck] }

    private var versionCheck: DoctorCheck {
        let major = versionNumber / 10_000
        guard major < Self.oldestVersion else { return DoctorCheck("database_version", .ok, "PostgreSQL \(version)") }
        let finding = "PostgreSQL \(version) is older than \(Self.oldestVersion), the oldest that Tally is tested with."
        let advice = "Upgrade Postgres (docs/guides/upgrade.md)."
        return DoctorCheck("database_version", .warning, finding, advice: advice)
    }

    /// What is wrong, and what to do about it.
    private struct Fault {
        let finding: String
        let advice: String
    }

    static let encodingAdvice =
        "Restore a backup into a database made with `createdb --encoding UTF8 --template template0`."

    /// The worst that is wrong with the settings; what else is wrong stands beside it.
    private var settingsCheck: DoctorCheck {
        let (broken, doubtful) = (breakingFaults, doubtfulFaults)
        let all = broken + doubtful
        guard !all.isEmpty else { return DoctorCheck("database_settings", .ok, "durable, writable, UTF8") }
        let finding = "Postgres: " + all.map(\.finding).joined(separator: "; ") + "."
        let advice = all.map(\.advice).joined(separator: " ")
        return DoctorCheck("database_settings", broken.isEmpty ? .warning : .broken, finding, advice: advice)
    }

    private var breakingFaults: [Fault] {
        var faults: [Fault] = []
        if isStandby {
            faults.append(Fault(finding: "it is a standby", advice: "Name the primary in TALLY_DATABASE_URL."))
        } else if settings["transaction_read_only"] == "on" {
            let advice = "Set default_transaction_read_only to off, for the server, the database and the role."
            faults.append(Fault(finding: "it is read-only", advice: advice))
        }
        if settings["fsync"] == "off" {
            let finding = "fsync is off: a crash of the machine can lose everything"
            faults.append(Fault(finding: finding, advice: Self.serverAdvice("fsync")))
        }
        if settings["server_encoding"] != "UTF8" {
            faults.append(Fault(finding: "its encoding is not UTF8", advice: Self.encodingAdvice))
        }
        if settings["synchronous_commit"] == "off" {
            let finding = "synchronous_commit is off: a crash can lose changes that were answered with 202"
            let advice = "Set synchronous_commit to on for the server, the database and the role, and reload."
            faults.append(Fault(finding: finding, advice: advice))
        }
        return faults
    }

    private var doubtfulFaults: [Fault] {
        var faults: [Fault] = []
        if settings["full_page_writes"] == "off" {
            let finding = "full_page_writes is off: a crash can damage pages, unless the file system prevents that"
            faults.append(Fault(finding: finding, advice: Self.serverAdvice("full_page_writes")))
        }
        if settings["autovacuum"] == "off" {
            let finding = "autovacuum is off: tables will grow without bound"
            faults.append(Fault(finding: finding, advice: Self.serverAdvice("autovacuum")))
        }
        return faults
    }

    /// What to do about a setting that only the whole server has.
    private static func serverAdvice(_ name: String) -> String {
        "Set \(name) to on in postgresql.conf, and reload."
    }

    private var connectionsCheck: DoctorCheck {
        let text = "\(connections) of \(maximumConnections) connections in use"
        guard connections * 10 >= Int64(maximumConnections) * 9 else {
            return DoctorCheck("database_connections", .ok, text)
        }
        let advice = "Raise max_connections, or lower TALLY_DATABASE_CONNECTIONS of the daemons."
        return DoctorCheck("database_connections", .warning, text + ".", advice: advice)
    }
}
