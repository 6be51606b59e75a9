import Glibc
import LocalPostgres
import SystemSupport

extension Scenario {
    static let databaseScenarios = [restart, crash, unreachable, connections, fullDisk, slow, failover]

    private static let restart = down("postgres-restart", "Postgres is restarted three times", rest: 3_000) {
        try await $0.stop()
    }

    private static let crash = down(
        "postgres-kill",
        "Postgres is killed (SIGKILL) three times, recovers and goes on",
        rest: 1_000
    ) {
        try await $0.kill()
    }

    /// Postgres goes down three times, and stays down for at most `rest` milliseconds each time.
    private static func down(
        _ name: String,
        _ story: String,
        rest: Int,
        by stop: @escaping @Sendable (LocalCluster) async throws -> Void
    ) -> Scenario {
        Scenario(
            name: name,
            story: story,
            allowances: .lostStarts,
            isShort: true,
            prepare: { try await $0.answerLate() },
            faults: { stage in
                for _ in 1...stage.count(3, short: 1) {
                    await stage.pause(upTo: 2_000)
                    try await stop(stage.server)
                    await stage.pause(upTo: rest)
                    try await stage.server.start()
                    await stage.pause(upTo: 3_000)
                }
            }
        )
    }

    private static let unreachable = Scenario(
        name: "postgres-unreachable",
        story: "nothing comes through to Postgres or back for a minute, and nobody is told",
        allowances: .lostStarts,
        isShort: true,
        prepare: { try await $0.relayDatabase() },
        faults: { stage in
            try stage.relay.hold()
            await stage.pause(seconds: 60, short: 6)
            try stage.relay.release()
        }
    )

    private static let connections = Scenario(
        name: "postgres-connections",
        story: "somebody else takes all connections of Postgres for 20 seconds",
        options: {
            var options = TallySystem.Options()
            options.ownServer = DatabasePlace.OwnServer()
            options.ownServer?.maximumConnections = 40
            return options
        }(),
        allowances: .lostStarts,
        faults: { stage in
            let url = try stage.server.connectionString()
            try await ConnectionHog.take(40, of: url, for: .seconds(stage.count(20, short: 6)))
        }
    )

    private static let fullDisk = Scenario(
        name: "postgres-full",
        story:
            "the disk of Postgres is full for ten seconds; a server that gives up is started again when there is room",
        disk: 250,
        allowances: .lostStarts,
        obstacle: { SmallDisk.obstacle },
        faults: { stage in
            try stage.disk.fill()
            await stage.pause(seconds: 10, short: 5)
            try stage.disk.clear()
            try await stage.server.start()
        }
    )

    private static let slow = Scenario(
        name: "postgres-slow",
        story: "everything to Postgres and back takes 50 ms longer for half a minute",
        isShort: true,
        prepare: { try await $0.relayDatabase() },
        faults: { stage in
            try stage.relay.slow(by: .milliseconds(50))
            await stage.pause(seconds: 30, short: 8)
            try stage.relay.slow()
        }
    )

    private static let failover = Scenario(
        name: "postgres-failover",
        story: """
            the primary is killed and its standby, which every commit had waited for, is promoted; daemons know both \
            (`target_session_attrs=read-write`)
            """,
        options: {
            var options = TallySystem.Options()
            options.ownServer = DatabasePlace.OwnServer()
            options.ownServer?.hasStandby = true
            return options
        }(),
        allowances: .lostStarts,
        isShort: true,
        prepare: { try await $0.answerLate() },
        faults: { stage in
            await stage.pause(upTo: 2_000)
            try await stage.server.kill()
            await stage.pause(upTo: 2_000)
            try await stage.system.standby?.promote()
            await stage.pause(seconds: 5, short: 2)
        }
    )
}

extension Stage {
    /// Puts a relay between the daemons and Postgres.
    fileprivate func relayDatabase() async throws {
        try await putRelay(to: .unix(path: server.socketPath), setting: "TALLY_DATABASE_URL") { port in
            "postgres://\(LocalCluster.user)@127.0.0.1:\(port)/postgres?sslmode=disable"
        }
    }
}
