import APITypes
import ActivityModel
import JSON
import SystemSupport
import TallyClient
import TestSupport

/// A match that a few phones follow, and the command line of somebody who looks after it.
struct OperatorStage {
    let system: TallySystem
    static let id = knownGood(ActivityID("friendly"))

    static func content(minute: Int64) -> JSONObject {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": "firstHalf"]
    }

    /// Starts the match on so many phones, and waits until all of them show it.
    func kickOff(phones: Int) async throws {
        try await system.simulator.makePhones("fan-", count: phones, of: TallySystem.app, follows: Self.id)
        try await system.simulator.finishReports()
        let request = StartRequest(
            type: TallySystem.type,
            attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
            contentState: Self.content(minute: 0),
            audience: Audience(devices: (1...phones).map { knownGood(DeviceID("fan-\($0)")) }),
            alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
        )
        _ = try await system.client().start(TallySystem.app, Self.id, request)
        try await eventually("every phone has the start, and its token is known") {
            try await system.activity(Self.id).progress.current == phones
        }
    }

    func post(minute: Int64) async throws {
        _ = try await system.client().update(
            TallySystem.app,
            Self.id,
            UpdateRequest(contentState: Self.content(minute: minute))
        )
    }

    /// Whether every phone shows this minute.
    func allShow(minute: Int64) async throws -> Bool {
        let phones = try await system.simulator.phones("fan-")
        return !phones.isEmpty
            && phones.allSatisfy { $0.contentState(of: Self.id.rawValue) == .object(Self.content(minute: minute)) }
    }

    /// Runs `tally` to its end.
    func tally(
        _ arguments: String...,
        environment: [String: String] = [:]
    ) async throws -> (ending: RunningProgram.Ending, output: String, errors: String) {
        try await tally(arguments, environment: environment)
    }

    func tally(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> (ending: RunningProgram.Ending, output: String, errors: String) {
        let usual = [
            "TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey, "TALLY_APP": TallySystem.app.rawValue,
        ]
        return try await RunningProgram.run(
            "tally",
            arguments,
            environment: usual.merging(environment) { $1 }.filter { !$0.value.isEmpty },
            in: system.folder
        )
    }
}
