import Foundation
@testable import LocalPostgres
import Postgres
import Reactor
import TestSupport
import Testing

@Suite("A private cluster", .timeLimit(.minutes(5)))
struct LocalClusterTests {
    private func withCluster(
        in parent: String = "/var/tmp",
        durable: Bool = false,
        _ body: (LocalCluster) async throws -> Void
    ) async throws {
        var options = LocalCluster.Options(folder: "\(parent)/tally-cluster-test-\(UUID().uuidString)")
        options.isDurable = durable
        let cluster = try await LocalCluster(options)
        let result: Result<Void, any Error>
        do {
            try await cluster.start()
            result = .success(try await body(cluster))
        } catch {
            result = .failure(error)
        }
        try await cluster.stop()
        cluster.removeData()
        try result.get()
    }

    private func database(_ cluster: LocalCluster, _ name: String = "postgres") throws -> Database {
        var configuration = Database.Configuration()
        configuration.acquireTimeout = .seconds(20)
        return try Database(url: cluster.connectionString(database: name), configuration: configuration)
    }

    @Test("Data survive a stop, the address too, and a pool goes on where it was")
    func restart() async throws {
        try await withCluster(durable: true) { cluster in
            #expect(try await cluster.createDatabase("tally"))
            #expect(try await !cluster.createDatabase("tally"))
            let database = try database(cluster, "tally")
            try await database.execute("CREATE TABLE kept (n int)")
            try await database.execute("INSERT INTO kept VALUES (7)")
            let durable = try await database.query("SHOW fsync").first(as: String.self)
            #expect(durable == "on")
            let url = cluster.connectionString()
            let process = cluster.processID
            try await cluster.stop()
            #expect(cluster.processID == nil)
            try await cluster.start()
            #expect(cluster.connectionString() == url)
            #expect(cluster.processID != process)
            let kept = try await database.query("SELECT n FROM kept").first(as: Int.self)
            #expect(kept == 7)
            await database.shutDown()
        }
    }

    @Test("Callers of a pool wait through a restart of the server")
    func waitThroughRestart() async throws {
        try await withCluster { cluster in
            let database = try database(cluster)
            _ = try await database.query("SELECT 1")
            try await cluster.stop()
            let waiting = Task { try await database.query("SELECT 2").first(as: Int.self) }
            try await cluster.start()
            #expect(try await waiting.value == 2)
            await database.shutDown()
        }
    }

    @Test("A second user of the same folder is turned away")
    func inUse() async throws {
        try await withCluster { cluster in
            let folder = URL(fileURLWithPath: cluster.folder.data).deletingLastPathComponent().path
            let second = try await LocalCluster(LocalCluster.Options(folder: folder))
            let error = await #expect(throws: LocalPostgresError.self) { try await second.start() }
            #expect(error?.code == .inUse)
        }
    }

    @Test("After the server was killed, the next start recovers what was committed")
    func killed() async throws {
        try await withCluster(durable: true) { cluster in
            let before = try database(cluster)
            try await before.execute("CREATE TABLE kept (n int)")
            await before.shutDown()
            let process = try #require(cluster.processID)
            kill(process, SIGKILL)
            while cluster.processID != nil { await Task.yield() }
            try await cluster.start()
            #expect(cluster.processID != process)
            let after = try database(cluster)
            let rows = try await after.query("SELECT n FROM kept")
            #expect(rows.isEmpty)
            await after.shutDown()
        }
    }

    @Test("A server that a killed process left behind is stopped first")
    func leftBehind() async throws {
        try await withCluster { cluster in
            let server = try #require(cluster.processID)
            let command = try #require(FileManager.default.contents(atPath: "/proc/\(server)/cmdline"))
            try await cluster.stop()
            // The same server, as nobody's child that the cluster knows of.
            let arguments = String(decoding: command, as: UTF8.self).split(separator: "\0").map(String.init)
            let socketFolder = cluster.folder.socketFolder
            let account = try ServerAccount.find()
            try ClusterFolder.makePrivateFolder(socketFolder, for: account)
            let orphan = try ServerProgram.start(account.commandLine(arguments), log: cluster.folder.log)
            let remains = ServerRemains(data: cluster.folder.data)
            while !remains.isReady(processID: orphan.processID) { await Task.yield() }
            try await cluster.start()
            #expect(orphan.status != nil)
            let database = try database(cluster)
            let one = try await database.query("SELECT 1").first(as: Int.self)
            #expect(one == 1)
            await database.shutDown()
        }
    }

    @Test("A process id in the folder that belongs to somebody else by now is not believed")
    func staleProcessID() async throws {
        try await withCluster { cluster in
            try await cluster.stop()
            let file = cluster.folder.data + "/postmaster.pid"
            try Data("\(getpid())\n\(cluster.folder.data)\n".utf8).write(to: URL(fileURLWithPath: file))
            try await cluster.start()
            #expect(cluster.processID != nil)
        }
    }

    @Test("Where the server's account may not go, the data lie under /var/tmp", .enabled(if: geteuid() == 0))
    func closedFolder() async throws {
        try await withCluster(in: NSHomeDirectory()) { cluster in
            #expect(cluster.folder.data.hasPrefix("/var/tmp/tally-"))
            #expect(cluster.connectionString().utf8.count < 100)
        }
    }

    @Test("A private folder that somebody else has put there is refused")
    func foreignFolder() throws {
        let path = "/tmp/tally-foreign-\(UUID().uuidString)"
        defer { rmdir(path) }
        let account = try ServerAccount.find()
        try #require(mkdir(path, 0o777) == 0)
        chmod(path, 0o777)
        let error = #expect(throws: LocalPostgresError.self) { try ClusterFolder.makePrivateFolder(path, for: account) }
        #expect(error?.code == .unusableFolder)
    }

    @Test("A program that fails shows the end of its log")
    func failing() async throws {
        try await withCluster { cluster in
            try await cluster.stop()
            let configuration = cluster.folder.data + "/postgresql.conf"
            let text = try #require(FileManager.default.contents(atPath: configuration))
            try (text + Data("nonsense = 1\n".utf8)).write(to: URL(fileURLWithPath: configuration))
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("nonsense") == true)
            try text.write(to: URL(fileURLWithPath: configuration))
        }
    }
}
