import Foundation
import Glibc
import Reactor
import Synchronization

/// A private PostgreSQL server on this machine. It uses no TCP, only a Unix socket in a folder that only its account
/// and root can enter. Development and tests use it.
///
/// The server is a child of this process and stops with it. If `setpriv` is installed, this is true even when this
/// process is killed. The data survive, and the next start on the same folder recovers them.
package final class LocalCluster: Sendable {
    /// The options of a cluster.
    package struct Options: Sendable {
        /// The folder of the data. If the server's account cannot enter it, a folder under `/var/tmp` replaces it.
        package var folder: String
        /// False trades safety against power cuts for speed; only for disposable data. Default true.
        package var isDurable = true
        /// The server's `max_connections`; default 100.
        package var maximumConnections = 100
        /// The server that this one follows as a readable standby; `nil` for an independent one. It must run when this
        /// one is started for the first time.
        package var primary: LocalCluster?
        /// Further settings of the server, by name; they replace those of this type.
        package var settings: [String: String] = [:]

        /// - Parameter folder: A path; a relative one counts from the current folder.
        package init(folder: String) {
            self.folder = folder
        }
    }

    private struct State {
        var server: ChildProcess?
        var lock: FileLock?
    }

    /// The timeout for the server to be ready or to stop.
    static let timeout = Duration.seconds(60)

    /// The superuser. Connections need no password.
    package static let user = "tally"

    let options: Options
    private let account: ServerAccount
    let folder: ClusterFolder
    let installation: Installation
    private let state = Mutex(State())

    /// Finds the programs and prepares the folder, without starting a server.
    ///
    /// - Throws: ``LocalPostgresError/Code/notInstalled``, with the packages to install,
    ///   ``LocalPostgresError/Code/wrongVersion`` or ``LocalPostgresError/Code/unusableFolder``.
    package init(_ options: Options) async throws(LocalPostgresError) {
        self.options = options
        account = try ServerAccount.find()
        folder = try await ClusterFolder.prepare(options.folder, for: account)
        installation = try await Installation.find(version: Self.dataVersion(folder.data))
    }

    /// The socket that the server listens on.
    package var socketPath: String { folder.socketFolder + "/.s.PGSQL.5432" }

    /// The id of the server process; `nil` while it does not run.
    package var processID: Int32? { running?.processID }

    private var running: ChildProcess? { state.withLock { $0.server }.flatMap { $0.status == nil ? $0 : nil } }

    /// The connection string for libpq. It stays the same across restarts.
    package func connectionString(database: String = "postgres") -> String {
        let host = folder.socketFolder.split(separator: "/").joined(separator: "%2F")
        return "postgres://\(Self.user)@%2F\(host)/\(database)"
    }

    /// Starts the server and waits until it accepts connections. Creates the cluster on first use.
    ///
    /// If a killed process has left a server on this folder, that server is stopped first.
    /// - Throws: ``LocalPostgresError/Code/inUse`` if another process runs it; ``LocalPostgresError/Code/failed`` with
    ///   the end of the log; ``LocalPostgresError/Code/timedOut``.
    package func start() async throws(LocalPostgresError) {
        guard running == nil else { return }
        let lock = try await takeLock()
        let deadline = ContinuousClock.now + Self.timeout
        let remains = ServerRemains(data: folder.data)
        try await remains.stopServer(until: deadline)
        if !FileManager.default.fileExists(atPath: folder.data) { try await initialise() }
        try ClusterFolder.makePrivateFolder(folder.socketFolder, for: account)
        let server = try await startServer(until: deadline)
        state.withLock { state in
            state.server = server
            state.lock = lock
        }
    }

    /// Stops the server: open transactions are rolled back, committed data stay.
    ///
    /// - Throws: ``LocalPostgresError/Code/timedOut``. Then the server is killed, and the next start recovers the data.
    package func stop() async throws(LocalPostgresError) {
        guard let server = state.withLock({ $0.server }) else { return }
        defer { forget() }
        server.signal(SIGINT)
        guard await server.end(within: Self.timeout) == nil else { return }
        server.signal(SIGKILL)
        throw LocalPostgresError(.timedOut, "PostgreSQL did not stop in time and was killed")
    }

    /// Kills the server, like a crash of its machine. Committed data stay, and the next start recovers them.
    ///
    /// - Throws: ``LocalPostgresError/Code/timedOut`` if it still runs.
    package func kill() async throws(LocalPostgresError) {
        guard let server = running else { return }
        server.signal(SIGKILL)
        guard await server.end(within: Self.timeout) == nil else { return }
        throw LocalPostgresError(.timedOut, "PostgreSQL could not be killed")
    }

    /// Stops the server without a checkpoint and waits for it, blocking. For the end of a process with disposable data.
    package func stopAtExit() {
        guard let server = state.withLock({ $0.server }) else { return }
        server.signal(SIGQUIT)
        server.waitForEnd(within: .seconds(10))
        server.signal(SIGKILL)
        forget()
    }

    /// Creates a database if it does not exist.
    ///
    /// - Parameter name: Lower-case letters, digits and underscores.
    /// - Returns: Whether this call created it.
    /// - Throws: ``LocalPostgresError/Code/failed`` with the end of the log.
    @discardableResult
    package func createDatabase(_ name: String) async throws(LocalPostgresError) -> Bool {
        guard Self.isPlain(name) else {
            throw LocalPostgresError(.failed, "a database cannot be called \(name) here")
        }
        // CREATE DATABASE has no IF NOT EXISTS. If a connection succeeds, the database exists.
        if try await psql("SELECT 1", database: name) == 0 { return false }
        guard try await psql("CREATE DATABASE \(name)") == 0 else { throw failed("CREATE DATABASE") }
        return true
    }

    // MARK: Steps

    private func takeLock() async throws(LocalPostgresError) -> FileLock {
        // After a server has ended unexpectedly, this process still has the lock.
        if let lock = state.withLock({ $0.lock }) { return lock }
        // Another thread may just be starting a program. Until its exec, the child also has this process's descriptors,
        // including a released lock.
        let deadline = ContinuousClock.now + .milliseconds(500)
        while true {
            if let lock = FileLock(folder.lock) { return lock }
            guard ContinuousClock.now < deadline else {
                throw LocalPostgresError(.inUse, "another process runs the cluster in \(folder.path)")
            }
            await PollingPause.short()
        }
    }

    private func initialise() async throws(LocalPostgresError) {
        // Created under another name first, so that an interrupted one never counts as a cluster.
        let fresh = folder.data + ".new"
        // Usually this folder does not exist.
        try? FileManager.default.removeItem(atPath: fresh)
        var arguments =
            if let primary = options.primary {
                [
                    installation.program("pg_basebackup"), "--pgdata=\(fresh)", "--username=\(Self.user)",
                    "--host=\(primary.folder.socketFolder)", "--write-recovery-conf", "--wal-method=stream",
                    "--checkpoint=fast",
                ]
            } else {
                [
                    installation.program("initdb"), "--pgdata=\(fresh)", "--username=\(Self.user)", "--auth=trust",
                    "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions",
                ]
            }
        if !options.isDurable { arguments.append("--no-sync") }
        let command = account.commandLine(arguments, signalAtParentDeath: "KILL")
        guard try await ServerProgram.run(command, log: folder.log, timeout: Self.timeout) == 0 else {
            throw failed(options.primary == nil ? "initdb" : "pg_basebackup")
        }
        guard rename(fresh, folder.data) == 0 else {
            throw LocalPostgresError(.unusableFolder, "\(fresh) cannot be renamed")
        }
    }

    private func startServer(until deadline: ContinuousClock.Instant) async throws(LocalPostgresError) -> ChildProcess {
        var arguments = [installation.program("postgres"), "-D", folder.data]
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) { arguments += ["-c", "\(name)=\(value)"] }
        let signal = options.isDurable ? "INT" : "QUIT"
        let command = account.commandLine(arguments, signalAtParentDeath: signal)
        while true {
            let server = try ServerProgram.start(command, log: folder.log)
            if try await isReady(server, until: deadline) { return server }
            // Backends that outlived a killed server use its shared memory for a moment.
            let log = logTail()
            guard log.contains("shared memory block"), ContinuousClock.now < deadline else { throw failed("postgres") }
        }
    }

    private var settings: [String: String] {
        var settings = [
            "listen_addresses": "", "unix_socket_directories": folder.socketFolder, "unix_socket_permissions": "0700",
            "max_connections": "\(options.maximumConnections)", "timezone": "UTC", "log_timezone": "UTC",
        ]
        if !options.isDurable {
            settings["fsync"] = "off"
            settings["synchronous_commit"] = "off"
            settings["full_page_writes"] = "off"
        }
        return settings.merging(options.settings) { $1 }
    }

    /// False if the server has ended.
    private func isReady(
        _ server: ChildProcess,
        until deadline: ContinuousClock.Instant
    ) async throws(LocalPostgresError) -> Bool {
        let remains = ServerRemains(data: folder.data)
        while server.status == nil {
            if remains.isReady(processID: server.processID) { return true }
            guard ContinuousClock.now < deadline else {
                server.signal(SIGQUIT)
                throw LocalPostgresError(.timedOut, "PostgreSQL was not ready in time; see \(folder.log)")
            }
            // The server reports its readiness only by a line in a file.
            _ = await server.end(within: .milliseconds(10))
        }
        return false
    }

    func psql(_ sql: String, database: String = "postgres") async throws(LocalPostgresError) -> Int32 {
        // Runs as the current user: the cluster trusts every user that may enter the socket's folder.
        let command = [
            installation.program("psql"), "--no-psqlrc", "--quiet", "--host=\(folder.socketFolder)",
            "--username=\(Self.user)", "--dbname=\(database)", "--command=\(sql)",
        ]
        return try await ServerProgram.run(command, log: folder.log, timeout: Self.timeout)
    }

    private func forget() {
        // It is empty now. Otherwise it stays for the next start.
        rmdir(folder.socketFolder)
        state.withLock { state in
            state.server = nil
            state.lock = nil
        }
    }

    func failed(_ what: String) -> LocalPostgresError {
        LocalPostgresError(.failed, "\(what) failed; the end of \(folder.log):\n\(logTail())")
    }

    private func logTail() -> String {
        let text = FileManager.default.contents(atPath: folder.log).map {
            String(decoding: $0.suffix(2000), as: UTF8.self)
        }
        return text.map { $0.split(separator: "\n").suffix(12).joined(separator: "\n") } ?? ""
    }

    private static func dataVersion(_ data: String) -> Int? {
        let text = FileManager.default.contents(atPath: data + "/PG_VERSION").map {
            String(decoding: $0, as: UTF8.self)
        }
        return text.flatMap { Int($0.prefix { $0.isNumber }) }
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }
}
