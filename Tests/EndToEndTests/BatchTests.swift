import APITypes
import ActivityModel
import JSON
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("Batches over HTTP")
struct BatchTests {
    private static func content(minute: Int64) -> JSONObject {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": "firstHalf"]
    }

    private static func start(_ id: ActivityID, devices: [String]) -> BatchOperation {
        BatchOperation(
            .start(
                id,
                StartRequest(
                    type: TallySystem.type,
                    attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
                    contentState: content(minute: 0),
                    audience: Audience(devices: devices.map { knownGood(DeviceID($0)) }),
                    alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
                )
            )
        )
    }

    @Test("many matches are started, updated and ended in batches, and every phone shows the last of it")
    func matches() async throws {
        try await TallySystem.with { system in
            let ids = (1...10).map { knownGood(ActivityID("match-\($0)")) }
            for (number, id) in ids.enumerated() {
                try await system.simulator.makePhones("fan-\(number)-", count: 1, of: TallySystem.app, follows: id)
            }
            try await system.simulator.finishReports()
            let client = try system.client()
            var operations = ids.enumerated().map { Self.start($1, devices: ["fan-\($0)-1"]) }
            operations.append(
                BatchOperation(
                    .update(knownGood(ActivityID("none")), UpdateRequest(contentState: Self.content(minute: 1)))
                )
            )
            operations += ids.map { BatchOperation(.update($0, UpdateRequest(contentState: Self.content(minute: 1)))) }
            let results = try await client.batch(TallySystem.app, operations)
            #expect(
                results.map(\.status) == Array(repeating: 202, count: 10) + [404] + Array(repeating: 202, count: 10)
            )
            #expect(try results[11].answer(ChangeAnswer.self).acceptedRevision == 2)
            #expect(throws: Problem.self) { try results[10].answer(ChangeAnswer.self) }

            try await eventually("all phones show the update") {
                try await system.simulator.phones("fan-").allSatisfy { phone in
                    ids.contains { phone.contentState(of: $0.rawValue) == .object(Self.content(minute: 1)) }
                }
            }
            let ends = ids.map { BatchOperation(.end($0, EndRequest(contentState: Self.content(minute: 90)))) }
            let keyed = ends.enumerated().map { BatchOperation($1.work, idempotencyKey: "end-\($0)") }
            let first = try await client.batch(TallySystem.app, keyed)
            #expect(first.allSatisfy { $0.status == 202 })
            #expect(try await client.batch(TallySystem.app, keyed) == first, "The same batch again changes nothing.")

            try await eventually("all phones have ended") {
                try await system.simulator.phones("fan-").allSatisfy { phone in
                    ids.contains { phone.state(of: $0.rawValue) == "ended" }
                }
            }
            for (number, id) in ids.enumerated() {
                let story = try await system.simulator.phone("fan-\(number)-1")
                #expect(story.contentState(of: id.rawValue) == .object(Self.content(minute: 90)))
            }
        }
    }
}
