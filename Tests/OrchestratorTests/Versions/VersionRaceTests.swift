import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("Registrations, changes and versions at the same moment", .timeLimit(.minutes(5)))
struct VersionRaceTests {
    /// What a phone with an app version can decode, said apart from the code that is tried.
    private static func decodes(_ push: Recorder.Push, _ appVersion: String) -> Bool {
        let state = push.aps["content-state"]?.object ?? JSONObject()
        switch appVersion {
        case "1.0": return state["note"].map { $0.string != nil } ?? true
        case "2.0": return state["clock"] != nil
        default: return state["clock"] != nil && state["late"] != nil
        }
    }

    /// What the test and its tasks have in common.
    private final class Shared: Sendable {
        /// App versions by update token.
        let tokens = Mutex<[String: String]>([:])
        let isOver = Mutex(false)
    }

    @Test("A state that comes after the running ones were looked at, and before the type is locked, is judged, too")
    func rejudgement() async throws {
        try await withWorld { world in
            try await world.install("2.1", on: "new")
            for id in ["final", "semi"] {
                try await world.start(id) { $0.contentState["clock"] = "0" }
                try await world.follow("new", token: "aa0\(id.count)", in: id)
            }
            try await register(in: world) { try await world.updateOld(score: 1) }
            let withheld = try await world.database.query(
                """
                SELECT a.activity_id, v.is_withheld FROM activities AS a JOIN activity_app_versions AS v USING (activity_key)
                ORDER BY a.activity_id
                """
            ).decoded(as: (String, Bool).self)
            #expect(withheld.map { "\($0) \($1)" } == ["final true", "semi false"])
        }
    }

    @Test(
        "An activity that is started after the running ones were looked at, and before the type is locked, is tried, too"
    )
    func start() async throws {
        try await withWorld { world in
            try await world.start { $0.contentState["clock"] = "0" }
            let refused = try await problem {
                try await register(in: world, before: Self.transactionOfTheType - 2, force: false) {
                    try await world.start("semi")
                }
            }
            #expect(refused?.code == "incompatible_schema")
            #expect(refused?.errors.first?.message.contains("the activity 'semi' does not satisfy it") == true)
        }
    }

    /// Registers a version. Runs `meanwhile` when what runs was looked at and the type is not locked yet.
    private func register(
        in world: World,
        before transaction: Int = transactionOfTheType,
        force: Bool = true,
        _ meanwhile: () async throws -> Void
    ) async throws {
        let lookedAt = Gate()
        let passed = Mutex(0)
        let gate = StatementGate { (moment) async throws(PostgresError) in
            guard moment == .betweenTransactions,
                passed.withLock({
                    $0 += 1; return $0
                }) == transaction
            else { return }
            await lookedAt.pass()
        }
        let other = world.sibling(behind: gate)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await other.registerVersion(force: force) }
            await lookedAt.arrivals(1)
            try await meanwhile()
            lookedAt.open()
            try await group.waitForAll()
        }
    }

    /// The versions, a page of what runs, a page of activities with their followers, and their states are read before it.
    private static let transactionOfTheType = 5

    /// Lets so much time pass that all barriers get stamps of their own.
    private func settle(_ world: World) async throws {
        for _ in 0..<8 {
            try await world.pass(5)
            try await world.settle()
        }
    }

    private static let latest =
        #"{"type":"object","properties":{"score":{"type":"integer"},"clock":{},"late":{}},"required":["score","clock","late"]}"#

    @Test("No phone is ever sent what its app cannot decode, and all get the last state", arguments: [UInt64(1), 2, 3])
    func race(seed: UInt64) async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.retire(1)
            let shared = Shared()
            try await world.start { $0.contentState["clock"] = "0" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !shared.isOver.withLock({ $0 }) {
                        try await world.settle()
                        await Task.yield()
                    }
                }
                for part in 0..<4 {
                    group.addTask {
                        for number in 0..<8 {
                            let device = "d\(part)-\(number)"
                            let appVersion = ["1.0", "2.0", "3.0"][(part + number) % 3]
                            let token = "aa0\(part)0\(number)"
                            shared.tokens.withLock { $0[token] = appVersion }
                            try await world.install(appVersion, on: device)
                            try await world.follow(device, token: token)
                        }
                    }
                }
                group.addTask {
                    var random = SeededRandom(seed: seed)
                    for score in 1...24 {
                        let kind = Int.random(in: 0..<4, using: &random)
                        let mustDeliver = Bool.random(using: &random)
                        do {
                            try await world.update(score: Int64(score), mustDeliver: mustDeliver) { request in
                                if kind > 0 { request.contentState["clock"] = "1" }
                                if kind == 1 { request.contentState["note"] = 1 }
                                if kind == 2 { request.contentState["late"] = true }
                            }
                        } catch let problem as Problem {
                            // Refused by a version in use, or too many barriers at once.
                            #expect([422, 429].contains(problem.status))
                        }
                        if score == 8 { try await world.registerVersion(Self.latest, from: "3.0", force: true) }
                    }
                    shared.isOver.withLock { $0 = true }
                }
                try await group.waitForAll()
            }
            try await settle(world)
            try await world.update(score: 100) { request in
                request.contentState["clock"] = "1"
                request.contentState["late"] = true
            }
            try await settle(world)
            let all = shared.tokens.withLock { $0 }
            #expect(all.count == 32)
            for (token, appVersion) in all {
                let pushes = world.recorder.pushes(to: token)
                #expect(pushes.last?.score == 100, "\(token) with \(appVersion)")
                // An app from 3.0 on was believed to decode the second version until the third was known.
                let known = appVersion == "3.0" ? "2.0" : appVersion
                #expect(pushes.allSatisfy { Self.decodes($0, known) }, "\(token) with \(appVersion)")
            }
        }
    }
}
