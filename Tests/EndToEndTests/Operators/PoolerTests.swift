import ActivityModel
import Foundation
import Glibc
import Postgres
import SystemSupport
import TestSupport
import Testing

/// PgBouncer of docs/guides/deploy.md between real daemons and Postgres.
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
            let settings = try String(contentsOfFile: system.folder.path("tally.env"), encoding: .utf8)
            let line = try #require(settings.firstMatch(of: /(TALLY_DATABASE_URL)=(postgres:\/\/tally:\w+@127.+)/))
            let pooled = [String(line.output.1): String(line.output.2), "TALLY_DATABASE_CONNECTIONS": "8"]
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
            // Each daemon hears of work, and of partitions that are free.
            #expect(try listening.first(as: Int64.self) == 4)
        }
    }

    /// PgBouncer after the steps of the page, which leave the address with the password in `tally.env`; they differ in
    /// where things are and in who Postgres and PgBouncer run as.
    private func startPooler(of system: TallySystem, port: UInt16) async throws -> Program.Background {
        let folder = system.folder
        let text = try #require(system.settings["TALLY_DATABASE_URL"])
        let url = try #require(URL(string: text))
        let host = url.host(percentEncoded: false)
        let socket = try #require(host)
        let sample = try String(contentsOf: Places.sample("deploy/pgbouncer.ini"), encoding: .utf8)
        let adapted = sample.replacing("listen_port = 6432", with: "listen_port = \(port)\nunix_socket_dir =")
            .replacing(
                "host=127.0.0.1 port=5432 dbname=tally",
                with: "host=\(socket) dbname=\(url.lastPathComponent)"
            )
            .replacing("/etc/pgbouncer", with: folder.url.path)
        #expect(adapted.contains("pool_mode = session") && adapted.contains(socket) && adapted.contains("scram"))
        try Data(adapted.utf8).write(to: folder.url.appending(path: "sample.ini"))
        let masterKey = try #require(system.settings["TALLY_MASTER_KEY"])
        let settings = try String(contentsOf: Places.sample("deploy/tally.env"), encoding: .utf8)
        try Data("\(masterKey)\n".utf8).write(to: folder.url.appending(path: "master-key"))
        try Data(settings.utf8).write(to: folder.url.appending(path: "tally.env"))

        // The server's account: it alone can enter the socket's folder, and PgBouncer refuses to be root.
        let isRoot = geteuid() == 0
        let ids = try await Shell.run("stat -c '%u %g' '\(socket)'", in: folder).split(whereSeparator: \.isWhitespace)
        let steps = try DocumentBlock.read("pgbouncer", in: "guides/deploy.md")
            .replacing("docs/samples/deploy/pgbouncer.ini", with: "sample.ini")
            .replacing("/etc/pgbouncer", with: folder.url.path)
            .replacing("/etc/tally", with: folder.url.path)
            .replacing("6432", with: "\(port)")
            .replacing("runuser -u postgres -- ", with: "")
            .replacing("-o postgres -g postgres", with: isRoot ? "-o \(ids[0]) -g \(ids[1])" : "")
        try await Shell.run(
            "systemctl() { :; }\n\(steps)",
            environment: ["PGHOST": socket, "PGDATABASE": url.lastPathComponent, "PGUSER": "tally"],
            in: folder
        )
        let arguments = ["-q", folder.path("pgbouncer.ini")]
        guard isRoot else { return try Program("pgbouncer").start(arguments) }
        let account = ["--reuid=\(ids[0])", "--regid=\(ids[1])", "--clear-groups"]
        return try Program("setpriv").start(account + ["pgbouncer"] + arguments)
    }
}
