import APITypes
import ActivityModel
import Glibc
import JSON
import Postgres
import Synchronization
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("SIGTERM")
struct ShutdownTests {
    private static let id = knownGood(ActivityID("sigterm"))
    private static let path = "/v1/apps/\(TallySystem.app)/activities/\(id)/updates"

    /// A change that was answered 202.
    private struct Accepted: Sendable {
        let key: String
        let body: [UInt8]
        let revision: Int64
        let contentState: JSONValue
        let postedAt: Int64
    }

    @Test("in the middle of traffic ends the daemon in order, and nothing that it accepted is lost")
    func losesNothing() async throws {
        try await TallySystem.with { system in
            let phones = (1...20).map { "fan-\($0)" }
            try await system.simulator.makePhones("fan-", count: 20, of: TallySystem.app, follows: Self.id)
            try await system.simulator.finishReports()
            let start = StartRequest(
                type: TallySystem.type,
                attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
                contentState: ["homeScore": 0, "awayScore": 0, "minute": 0, "period": "firstHalf"],
                audience: Audience(devices: phones.map { knownGood(DeviceID($0)) }),
                alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
            )
            let client = try system.client()
            let first = try await client.start(TallySystem.app, Self.id, start).answer
            // Batches are on their way when the signal comes.
            try await system.simulator.delayAnswers(to: "update", milliseconds: 150, probability: 0.5)

            let accepted = try await withThrowingTaskGroup(of: [Accepted].self) { group in
                for poster in 1...4 { group.addTask { try await Self.post(as: poster, to: system) } }
                await pause(.milliseconds(1_500))
                let daemon = try system.daemon
                daemon.signal(SIGTERM)
                #expect(await daemon.end(within: .seconds(35)) == .exited(0), "\(daemon.errors)")
                var accepted: [Accepted] = []
                for try await part in group { accepted += part }
                return accepted.sorted { $0.revision < $1.revision }
            }
            #expect(accepted.count > 4)
            #expect(!accepted.contains { $0.revision <= first.revision })
            #expect(Set(accepted.map(\.revision)).count == accepted.count)

            try await system.startDaemon()
            try await expectAllStored(accepted, in: system)
            // Whoever did not hear the answer asks again with the same key, and gets it.
            for change in accepted.suffix(8) {
                let answer = try await system.api()
                    .send("POST", Self.path, change.body, headers: ["Idempotency-Key": change.key])
                #expect(answer.status == 202)
                #expect(answer.json["revision"]?.int64 == change.revision)
            }
            try await expectConvergence(after: accepted, in: system)
        }
    }

    /// Posts until a post is not answered 202.
    private static func post(as poster: Int, to system: TallySystem) async throws -> [Accepted] {
        var accepted: [Accepted] = []
        let api = system.api()
        for number in 1...100_000 {
            let content: JSONValue = [
                "homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(number)), "period": "firstHalf",
                "lastEvent": .string("poster \(poster)"),
            ]
            let body = (["content_state": content] as JSONValue).serialized()
            let key = "\(poster)-\(number)"
            let postedAt = Clock.milliseconds
            // A connection that breaks is no promise.
            guard let answer = try? await api.send("POST", path, body, headers: ["Idempotency-Key": key]),
                answer.status == 202
            else { break }
            let revision = try #require(answer.json["revision"]?.int64)
            accepted.append(
                Accepted(key: key, body: body, revision: revision, contentState: content, postedAt: postedAt)
            )
        }
        return accepted
    }

    private func expectAllStored(_ accepted: [Accepted], in system: TallySystem) async throws {
        let rows = try await system.database.query(
            """
            SELECT c.revision, c.content_state::text FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(Self.id.rawValue)
            """
        )
        let stored = try Dictionary(rows.decoded(as: (Int64, String).self).map { ($0, $1) }) { $1 }
        for change in accepted {
            let text = try #require(stored[change.revision])
            #expect(try JSONValue(parsing: text) == change.contentState)
        }
    }

    private func expectConvergence(after accepted: [Accepted], in system: TallySystem) async throws {
        let end: JSONObject = ["homeScore": 1, "awayScore": 0, "minute": 90, "period": "ended"]
        let postedAt = Clock.milliseconds
        let revision = try await system.client().end(TallySystem.app, Self.id, EndRequest(contentState: end))
            .acceptedRevision
        let posts = accepted.map {
            PostedChange(
                activityID: Self.id,
                kind: .update,
                revision: $0.revision,
                postedAt: $0.postedAt,
                contentState: $0.contentState.object
            )
        }
        let last = PostedChange(
            activityID: Self.id,
            kind: .end,
            revision: revision,
            postedAt: postedAt,
            contentState: end
        )
        let report = try await system.simulator.report(on: posts + [last])
        #expect(report.wrong == [])
        #expect(report.phones == 20)
        #expect(report.secondCards == 0)
    }

    @Test("without traffic ends both programs with exit code 0")
    func endsIdle() async throws {
        try await TallySystem.with { system in
            let daemon = try system.daemon
            daemon.signal(SIGTERM)
            #expect(await daemon.end(within: .seconds(30)) == .exited(0), "\(daemon.errors)")
            let simulator = system.simulator.program
            simulator.signal(SIGTERM)
            #expect(await simulator.end(within: .seconds(30)) == .exited(0), "\(simulator.errors)")
        }
    }
}
