import APITypes
import ActivityModel
import Postgres
import OrchestratorTestSupport
import Registry
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Reports of devices that come together", .timeLimit(.minutes(2)))
struct RegistrationGroupTests {
    private let game = ActivityTypeName(stored: "Game")

    private func report(
        _ id: String,
        in app: BundleID,
        token: String,
        generation: Int64? = nil,
        _ change: (inout DeviceRequest) -> Void = { _ in }
    ) throws -> ReportedDevice {
        var request = DeviceRequest(environment: .production)
        request.startTokens[game] = StartTokenRequest(
            token: try #require(PushToken(hex: token)),
            generation: generation
        )
        change(&request)
        return ReportedDevice(app: app, id: DeviceID(stored: id), request: request, wantsDevice: true)
    }

    @Test("Each is judged on its own; what is refused or stale does not disturb the others")
    func judgedAlone() async throws {
        try await withRegistry { registry, app in
            let before = [
                try report("moved", in: app, token: "aa01"),
                try report("renewed", in: app, token: "aa02", generation: 9) { $0.installation = "first" },
                try report("replaced", in: app, token: "aa03") { $0.installation = "first" },
                try report("older", in: app, token: "aa04", generation: 7),
                try report("same", in: app, token: "aa05") { $0.user = .user(UserID(stored: "fan")) },
            ]
            for answer in await registry.intake.accept(before) { _ = try answer.get() }
            _ = try await registry.intake.accept([
                report("replaced", in: app, token: "aa13") { $0.installation = "second" }
            ])

            let none = BundleID(stored: "com.example.none")
            let answers = await registry.intake.accept([
                try report("new", in: app, token: "bb00"),
                try report("moved", in: app, token: "bb01") { $0.environment = .sandbox },
                try report("renewed", in: app, token: "bb02", generation: 1) { $0.installation = "second" },
                try report("replaced", in: app, token: "bb03") { $0.installation = "first" },
                try report("older", in: app, token: "bb04", generation: 6) { $0.activitiesEnabled = false },
                try report("same", in: app, token: "bb05"),
                try report("nobody", in: none, token: "bb06"),
            ])
            #expect(throws: Problem.self) { try answers[6].get() }
            let stored = try answers.dropLast().map { try $0.get() }
            let devices = try stored.map { try #require($0.device) }
            #expect(devices.map(\.deviceID.rawValue) == ["new", "moved", "renewed", "replaced", "older", "same"])
            #expect(
                devices.map { $0.startTokens[game]?.token }
                    == ["bb00", "bb01", "bb02", "aa13", "aa04", "bb05"].map { "\($0)…" }
            )
            #expect(stored.map(\.stale) == [nil, nil, nil, .installation, .generation, nil])
            #expect(devices[1].environment == .sandbox)
            #expect(devices[2].startTokens[game]?.generation == 1)
            #expect(devices[4].activitiesEnabled == false)
            #expect(devices[5].userID == UserID(stored: "fan"))
        }
    }

    @Test("Two of them with one token: it belongs to one device")
    func sameToken() async throws {
        try await withRegistry { registry, app in
            let reports = try ["d1", "d2"].map { try report($0, in: app, token: "aa01") }
            for answer in await registry.intake.accept(reports) { _ = try answer.get() }
            let count = try await registry.database.query("SELECT count(*) FROM start_tokens")
            #expect(try count.single(Int64.self) == 1)
        }
    }

    @Test("Many new ones are all enrolled in what runs before they are answered")
    func enrolled() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            let reports = try (10..<60).map { number in
                try report("d\(number)", in: world.app, token: "aa\(number)") { request in
                    request.startTokens = [World.game: request.startTokens.values.first].compactMapValues { $0 }
                    request.osVersion = OSVersion("18.1")
                }
            }
            for answer in await world.orchestrator.intake.accept(reports) { _ = try answer.get() }
            #expect(try await world.tables.starts().count == 50)
            try await world.settle()
            #expect(world.recorder.take().count == 50)
        }
    }
}
