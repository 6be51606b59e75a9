import APITypes
import ActivityModel
import Foundation
import JSON
import ReportTypes
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// Real programs: the commands that people type every day.
@Suite("The everyday command line")
struct EverydayCommandTests {
    @Test("a user is looked up, the server is seen at a glance, and a wrong word is corrected")
    func looking() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            #expect(try await stage.tally("users", "show", "ada").ending == .exited(1))
            _ = try await stage.tally("devices", "put", "fan-1", "--environment", "production", "--user", "ada")
            let ada = try await stage.tally("users", "show", "ada")
            #expect(ada.output.contains("fan-1") && ada.output.contains(OperatorStage.id.rawValue), "\(ada.output)")
            let user = try UserResource(
                json: JSONValue(parsing: await stage.tally("users", "show", "ada", "--json").output)
            )
            #expect(user.cards.map(\.activityID) == [OperatorStage.id])
            #expect(user.activities.map(\.activityID) == [OperatorStage.id])
            _ = try await stage.tally(
                "devices",
                "put",
                "lost-1",
                "--environment",
                "production",
                "--device-token",
                "80f4a6c1d2e3"
            )
            for token in ["80f4", "80F4A6C1D2E3"] {
                let found = try await stage.tally("devices", "list", "--token", token, "--json")
                let ids = try JSONValue(parsing: found.output)["items"]?.array?.map { $0["device_id"]?.string }
                #expect(ids == ["lost-1"], "\(found.output)\(found.errors)")
            }
            let status = try await stage.tally("status", "-o", "json")
            let seen = try JSONValue(parsing: status.output)["apps"]?.array?.first
            #expect(seen?["live"] == 1 && seen?["destinations"] == 1 && seen?["halted"] == [], "\(status.output)")
            #expect(try await stage.tally("status").output.contains("is ready."))
            #expect(try await stage.tally("halts", "list").output.hasPrefix("ENVIRONMENT"))
            let wrong = try await stage.tally("activites", "list")
            #expect(wrong.ending == .exited(64))
            #expect(wrong.errors.contains("Did you mean 'tally activities'?"), "\(wrong.errors)")
        }
    }

    @Test("a policy is changed by --set and in an editor, and a profile takes the place of the environment")
    func policyAndProfile() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            let type = TallySystem.type.rawValue
            let set = try await stage.tally("policy", "edit", type, "--set", #"{"token_wait_seconds": 60}"#)
            #expect(set.output.contains("~ /token_wait_seconds: 3600 → 60"), "\(set.output)\(set.errors)")
            let edited = try await stage.tally(
                "policy",
                "edit",
                type,
                environment: ["EDITOR": "sed -i /token_wait_seconds/d"]
            )
            #expect(edited.output.contains("~ /token_wait_seconds: 60 → 3600"), "\(edited.output)\(edited.errors)")
            let same = try await stage.tally("policy", "edit", type, environment: ["EDITOR": "true"])
            #expect(same.output.contains("Nothing is changed."))
            let file = ["TALLY_CONFIG": system.folder.path("config.json")]
            let added = try await stage.tally("profile", "add", "here", environment: file)
            #expect(added.output.contains("is the default"), "\(added.output)\(added.errors)")
            let none = ["TALLY_URL": "", "TALLY_API_KEY": "", "TALLY_APP": ""].merging(file) { $1 }
            let listed = try await stage.tally("types", "list", environment: none)
            #expect(listed.output.contains(type), "\(listed.output)\(listed.errors)")
        }
    }

    @Test("a test card appears on a phone, changes and goes")
    func testCard() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            let type = TallySystem.type.rawValue
            let card = try await stage.tally(
                "activities",
                "test-card",
                "--device",
                "fan-1",
                "--type",
                type,
                "--pause",
                "0"
            )
            #expect(card.ending == .exited(0), "\(card.output)\(card.errors)")
            #expect(card.output.contains("the phone has the update"), "\(card.output)")
            let drawn = try await RunningProgram.run(
                "apns-sim",
                ["show", "fan-1", "-o", "card", "--control", system.simulator.controlURL],
                environment: [:],
                in: system.folder
            )
            #expect(drawn.output.contains("│ GameAttributes · friendly"), "\(drawn.output)\(drawn.errors)")
        }
    }

    @Test("a folder says what apps and types are: first what differs is shown, then it is so")
    func apply() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            let app = try await system.client().app(TallySystem.app)
            let key = try #require(app.environments[.production]?.keyID.rawValue)
            let folder = URL(filePath: system.folder.path("declared"))
            let types = folder.appending(path: "\(TallySystem.app)/types")
            try FileManager.default.createDirectory(at: types, withIntermediateDirectories: true)
            func write(_ name: String, _ text: String) throws {
                try Data(text.utf8).write(to: folder.appending(path: "\(TallySystem.app)/\(name)"))
            }
            try write(
                "app.json",
                #"{"team_id":"\#(app.teamID)","channel_pool":3,"environments":{"production":{"key_id":"\#(key)"}}}"#
            )
            try write("types/order-policy.json", #"{"token_wait_seconds":60}"#)
            try write(
                "types/Order.json",
                #"{"attributes_schema":true,"content_state_schema":{"type":"object"},"policy":"@order-policy.json"}"#
            )
            let shown = try await stage.tally("apply", "-f", folder.path, "--dry-run")
            #expect(shown.ending == .exited(2), "\(shown.output)\(shown.errors)")
            #expect(shown.output.contains("~ /channel_pool: \(app.channelPool) → 3"), "\(shown.output)")
            #expect(shown.output.contains("type Order of \(TallySystem.app)\n  is new"), "\(shown.output)")
            #expect(try await system.client().app(TallySystem.app).channelPool == app.channelPool)
            let applied = try await stage.tally("apply", "-f", folder.path, "--yes")
            #expect(applied.ending == .exited(0), "\(applied.output)\(applied.errors)")
            let order = try await system.client().type(TallySystem.app, knownGood(ActivityTypeName("Order")))
            #expect(order.policy.tokenWaitSeconds == 60)
            let again = try await stage.tally("apply", "-f", folder.path, "--dry-run")
            #expect(again.ending == .exited(0) && again.output.contains("Nothing differs."), "\(again.output)")
        }
    }
}
