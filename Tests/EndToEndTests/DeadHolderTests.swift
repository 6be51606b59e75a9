import ActivityModel
import Glibc
import JSON
import Postgres
import SystemSupport
import TestSupport
import Testing

/// A daemon that dies, or falls silent, with a request in its hand: the caller asks another one with the same key.
@Suite("Idempotency keys of daemons that died")
struct DeadHolderTests {
    private static let id = knownGood(ActivityID("derby"))
    private static let app = "/v1/apps/\(TallySystem.app)"
    private static let updates = "\(app)/activities/\(id)/updates"
    private static let headers = ["Idempotency-Key": "a-goal"]

    private func start(in system: TallySystem) async throws {
        let state: JSONValue = ["homeScore": 0, "awayScore": 0, "minute": 0, "period": "firstHalf"]
        let attributes: JSONValue = ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"]
        try await system.api().call(
            "PUT",
            Self.app + "/activities/\(Self.id)",
            ["type": "GameAttributes", "attributes": attributes, "content_state": state]
        )
        try await eventually("nothing is left to do") {
            try await EngineTables(system.database).isAtRest()
        }
    }

    /// A change that would be another one if it were accepted twice.
    private static let goal: [UInt8] = {
        let state: JSONValue = ["homeScore": 1, "awayScore": 0, "minute": 7, "period": "firstHalf"]
        return (["content_state": state, "force": true] as JSONValue).serialized()
    }()

    /// The server's processes that wait for a lock in this database.
    private func waiting(in system: TallySystem) async throws -> Set<Int32> {
        Set(
            try await system.database.query(
                """
                SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            ).decoded(as: Int32.self)
        )
    }

    @Test(
        "a change whose daemon was killed, or fell silent, while the database let it wait is accepted once, and the repeated request is answered",
        // It waits before anything is decided, or with all its statements and the commit on their way.
        arguments: [("activities", SIGKILL), ("activities", SIGSTOP), ("segments", SIGKILL)]
    )
    func change(table: String, signal: Int32) async throws {
        try await TallySystem.with { system in
            try await start(in: system)
            let second = try await system.startAnotherDaemon()
            let other = HTTPCaller(base: second.url, key: TallySystem.adminKey)
            let (lost, retry) = try await system.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM \(identifier: table) FOR UPDATE")
                let lost = Task { try await system.api().send("POST", Self.updates, Self.goal, headers: Self.headers) }
                let first = try await eventually("the request waits") {
                    let waiting = try await waiting(in: system)
                    return waiting.isEmpty ? nil : waiting
                }
                if signal == SIGKILL { await system.killDaemon() } else { try system.daemon.signal(signal) }
                let retry = Task { try await other.send("POST", Self.updates, Self.goal, headers: Self.headers) }
                try await eventually("the repeated request waits") {
                    try await !waiting(in: system).isSubset(of: first)
                }
                return (lost, retry)
            }
            let answer = try await retry.value
            try system.daemon.signal(SIGCONT)
            // Its daemon died with it, or has lost what it held meanwhile.
            if let late = try? await lost.value { #expect(late.status == 503, "\(late.json.text)") }  // no answer
            #expect(answer.status == 202, "\(answer.json.text)")
            #expect(answer.json["revision"] == 2)
            let again = try await other.send("POST", Self.updates, Self.goal, headers: Self.headers)
            #expect(again.status == 202)
            #expect(again.json == answer.json)
            let revisions = try await system.database.query("SELECT revision FROM changes ORDER BY 1")
            #expect(try revisions.decoded(as: Int64.self) == [1, 2])
        }
    }

    @Test("the database gives up what a killed daemon has it wait for, although nothing comes to an end there")
    func abandoned() async throws {
        try await TallySystem.with { system in
            try await start(in: system)
            let lost = try await system.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM activities FOR UPDATE")
                let lost = Task { try await system.api().send("POST", Self.updates, Self.goal, headers: Self.headers) }
                try await eventually("the request waits") { try await !waiting(in: system).isEmpty }
                await system.killDaemon()
                try await eventually("nobody waits any more") {
                    // Else the lock would be free after 9 s.
                    _ = try await connection.query("SELECT")
                    return try await waiting(in: system).isEmpty
                }
                return lost
            }
            await #expect(throws: (any Error).self, "its daemon died with it") { try await lost.value }
            #expect(try await system.database.query("SELECT 1 FROM changes").count == 1)
        }
    }

    @Test(
        "a key that a daemon held while it asked Apple is free soon after the daemon was killed, or is heard of no more",
        arguments: [SIGKILL, SIGSTOP]
    )
    func channel(signal: Int32) async throws {
        try await TallySystem.with { system in
            let second = try await system.startAnotherDaemon()
            let other = HTTPCaller(base: second.url, key: TallySystem.adminKey)
            func create(at daemon: HTTPCaller) async throws -> HTTPCaller.Answer {
                try await daemon.send(
                    "POST",
                    Self.app + "/channels",
                    (["storage": "none"] as JSONValue).serialized(),
                    headers: Self.headers
                )
            }
            try await system.simulator.setFault("no-answer", ["kind": "silence"], match: ["api": "channels"])
            let lost = Task { try await create(at: system.api()) }
            // Whoever asks Apple has the key.
            try await eventually("Apple is asked") {
                try await system.simulator.traffic()["fault_hits"]?["no-answer"]?.int64 == 1
            }
            #expect(try await create(at: other).json["code"] == "idempotency_in_progress")
            try system.daemon.signal(signal)
            _ = try await system.simulator.removeFault("no-answer")
            let answer = try await eventually("the key is free") {
                let answer = try await create(at: other)
                if answer.status == 201 { return answer }
                #expect(answer.json["code"] == "idempotency_in_progress")
                return nil
            }
            #expect(try await create(at: other).json == answer.json)
            #expect(try await system.database.query("SELECT 1 FROM channels").count == 1)
            try system.daemon.signal(SIGCONT)
            // Its daemon died with it, or has lost the key meanwhile.
            if let late = try? await lost.value { #expect(late.status == 503, "\(late.json.text)") }  // no answer
            #expect(try await system.database.query("SELECT 1 FROM channels").count == 1)
        }
    }
}
