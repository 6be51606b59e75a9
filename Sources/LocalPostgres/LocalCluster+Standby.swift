/// A second server that follows the first.
extension LocalCluster {
    /// What libpq takes to connect to whichever of the two takes writes.
    package func connectionString(orOn standby: LocalCluster?, database: String = "postgres") -> String {
        guard let standby else { return connectionString(database: database) }
        let hosts = [folder, standby.folder].map {
            "%2F" + $0.socketFolder.split(separator: "/").joined(separator: "%2F")
        }
        let options = "target_session_attrs=read-write&connect_timeout=2"
        return "postgres://\(Self.user)@\(hosts.joined(separator: ","))/\(database)?\(options)"
    }

    /// From now on a commit waits until a standby has it on disk, too. Returns when one has caught up.
    ///
    /// - Throws: ``LocalPostgresError/Code/timedOut``; ``LocalPostgresError/Code/failed`` with the end of the log.
    package func awaitStandby() async throws(LocalPostgresError) {
        guard try await psql("ALTER SYSTEM SET synchronous_standby_names = '*'") == 0,
            try await psql("SELECT pg_reload_conf()") == 0
        else { throw failed("ALTER SYSTEM") }
        let deadline = ContinuousClock.now + Self.timeout
        // The server tells of a standby in a view, and nobody of a change of it. What is not so makes psql fail.
        let question = "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        while try await psql(question) != 0 {
            guard ContinuousClock.now < deadline else {
                throw LocalPostgresError(.timedOut, "no standby has caught up in time; see \(folder.log)")
            }
            await Pause.short()
        }
    }

    /// Lets a standby take over.
    ///
    /// - Throws: ``LocalPostgresError/Code/failed`` with the end of the log.
    package func promote() async throws(LocalPostgresError) {
        guard try await psql("SELECT pg_promote()") == 0 else { throw failed("pg_promote") }
    }

    func copyingArguments(of primary: LocalCluster, into folder: String) -> [String] {
        [
            installation.program("pg_basebackup"), "--pgdata=\(folder)", "--host=\(primary.folder.socketFolder)",
            "--username=\(Self.user)", "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast",
        ]
    }
}
