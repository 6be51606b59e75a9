@testable package import LocalPostgres

/// A second server that replicates the first.
extension LocalCluster {
    /// The connection string for libpq to reach whichever of the two accepts writes.
    package func connectionString(orOn standby: LocalCluster?, database: String = "postgres") -> String {
        guard let standby else { return connectionString(database: database) }
        let hosts = [folder, standby.folder].map {
            "%2F" + $0.socketFolder.split(separator: "/").joined(separator: "%2F")
        }
        let options = "target_session_attrs=read-write&connect_timeout=2"
        return "postgres://\(Self.user)@\(hosts.joined(separator: ","))/\(database)?\(options)"
    }

    /// Waits until a standby has caught up. From then on, each commit waits until a standby has it on disk too.
    ///
    /// - Throws: ``LocalPostgresError/Code/timedOut``; ``LocalPostgresError/Code/failed`` with the end of the log.
    package func awaitStandby() async throws(LocalPostgresError) {
        guard try await psql("ALTER SYSTEM SET synchronous_standby_names = '*'") == 0,
            try await psql("SELECT pg_reload_conf()") == 0
        else { throw failed("ALTER SYSTEM") }
        let deadline = ContinuousClock.now + Self.timeout
        // The server shows standbys only in a view, without notifications. Without a synchronous standby the division
        // by zero makes psql fail.
        let question = "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        while try await psql(question) != 0 {
            guard ContinuousClock.now < deadline else {
                throw LocalPostgresError(.timedOut, "no standby has caught up in time; see \(folder.log)")
            }
            await PollingPause.short()
        }
    }

    /// Promotes a standby to primary.
    ///
    /// - Throws: ``LocalPostgresError/Code/failed`` with the end of the log.
    package func promote() async throws(LocalPostgresError) {
        guard try await psql("SELECT pg_promote()") == 0 else { throw failed("pg_promote") }
    }
}
