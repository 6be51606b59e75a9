import ActivityModel
import Foundation
import Glibc
import Postgres
import SystemSupport
import TestSupport
import Testing

/// PgBouncer of docs/deployment.md between real daemons and Postgres.
@Suite("Daemons behind a pooler in session mode")
struct PoolerTests {
    private static let match = FollowedActivity(
        id: knownGood(ActivityID("pooled")),
        delivery: .tokens,
        audience: (1...12).map { "pooled-\($0)" }
    )

    @Test("two daemons play a match through it, woken by each other's notifications")
    func pgbouncer() async throws {
        try await TallySystem.with { system in
            let port = try await unusedPort()
            let pooler = try await startPooler(of: system, port: port)
            defer { pooler.kill() }
            // Nothing is done past the pooler from now on.
            await system.killDaemon()
            let pooled = [
                "TALLY_DATABASE_URL": "postgres://tally@127.0.0.1:\(port)/tally", "TALLY_DATABASE_CONNECTIONS": "8",
            ]
            let daemons = [
                try await eventually("the pooler lets a daemon through") {
                    try? await system.startAnotherDaemon(environment: pooled)
                },
                try await system.startAnotherDaemon(environment: pooled),
            ]
            try await system.reportPhones(to: daemons[1].url)
            let simulator = system.simulator
            try await simulator.makePhones("pooled-", count: 12, of: TallySystem.app, follows: Self.match.id)
            try await simulator.finishReports()

            let recording = try Recording()
            var posts: [PostedChange] = []
            for (index, post) in recording.posts.enumerated() {
                let client = try system.client(url: daemons[index % 2].url)
                posts.append(try await Self.match.post(post, of: recording, by: client))
            }
            let report = try await simulator.report(on: posts)
            #expect(report.phones == 12)
            #expect(report.wrong == [])
            let listening = try await system.database.query(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
            #expect(try listening.first(as: Int64.self) == 2)
        }
    }

    /// PgBouncer with the sample's settings, but for where things are and who may come in.
    private func startPooler(of system: TallySystem, port: UInt16) async throws -> Program.Background {
        let text = try #require(system.settings["TALLY_DATABASE_URL"])
        let url = try #require(URL(string: text))
        let host = url.host(percentEncoded: false)
        let socket = try #require(host)
        let sample = try String(contentsOf: Places.sample("deploy/pgbouncer.ini"), encoding: .utf8)
        let adapted = sample.replacing("listen_port = 6432", with: "listen_port = \(port)\nunix_socket_dir =")
            .replacing(
                "host=127.0.0.1 port=5432 dbname=tally",
                with: "host=\(socket) dbname=\(url.lastPathComponent) user=tally"
            )
            .replacing("auth_type = scram-sha-256", with: "auth_type = any")
            .replacing("auth_file = /etc/pgbouncer/userlist.txt\n", with: "")
        #expect(adapted.contains("pool_mode = session") && adapted.contains(socket) && !adapted.contains("scram"))
        try Data(adapted.utf8).write(to: system.folder.url.appending(path: "pgbouncer.ini"))
        let pooler = try Program("pgbouncer")
        let arguments = ["-q", system.folder.path("pgbouncer.ini")]
        guard geteuid() == 0 else { return try pooler.start(arguments) }
        // The server's account: it alone can enter the socket's folder, and PgBouncer refuses to be root.
        let ids = try await Shell.run("stat -c '--reuid=%u --regid=%g' '\(socket)'", in: system.folder)
        let account = ids.split(whereSeparator: \.isWhitespace).map(String.init)
        return try Program("setpriv").start(account + ["--clear-groups", "pgbouncer"] + arguments)
    }
}
