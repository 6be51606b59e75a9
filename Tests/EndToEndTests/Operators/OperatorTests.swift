import APITypes
import ActivityModel
import Foundation
import JSON
import Postgres
import ReportTypes
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// Real programs: what operators hold in their hands.
@Suite("The command line of an operator")
struct OperatorTests {
    @Test("the doctor looks at the real way to Apple, tries channels when asked, and its exit code is its verdict")
    func doctor() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            let healthy = try await stage.tally("doctor", "--try-channels", "--environment", "production")
            // The clusters of tests keep nothing through a crash, and the doctor says so.
            #expect(healthy.ending == .exited(1), "\(healthy.output)\(healthy.errors)")
            #expect(healthy.output.contains("fsync is off"))
            #expect(healthy.output.contains("1 check found something broken"), "\(healthy.output)")
            for api in ["device", "broadcast", "channels"] {
                #expect(healthy.output.contains("ok       apns production \(api)"), "\(healthy.output)")
            }
            let oneLine = healthy.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(oneLine.contains("a channel was made and deleted"))
            #expect(healthy.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(healthy.output)")

            await system.simulator.program.stop()
            let cut = try await stage.tally("doctor", "--json")
            #expect(cut.ending == .exited(1))
            let report = try DoctorReport(json: try JSONValue(parsing: cut.output))
            let apns = report.checks.filter { $0.check == "apns" }
            #expect(apns.count == 3)
            #expect(apns.allSatisfy { $0.verdict == .broken && $0.advice?.contains("outgoing TCP") == true })
        }
    }

    @Test("an activity is watched until every phone has the newest state, and to its end")
    func watch() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 2)
            let watching = try await RunningProgram.start(
                "tally",
                ["activities", "watch", OperatorStage.id.rawValue, "--interval", "0.1"],
                environment: [
                    "TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey,
                    "TALLY_APP": TallySystem.app.rawValue,
                ],
                in: system.folder
            )
            try await stage.post(minute: 1)
            let current = try await stage.tally("activities", "watch", OperatorStage.id.rawValue, "--until-current")
            #expect(current.ending == .exited(0))
            #expect(current.output.split(separator: "\n").last?.contains("2 of 2 current") == true, "\(current.output)")
            let late = try await stage.tally("activities", "watch", OperatorStage.id.rawValue, "--timeout", "0.5")
            #expect(late.ending == .exited(2))
            _ = try await stage.tally("activities", "end", OperatorStage.id.rawValue)
            #expect(await watching.end(within: .seconds(60)) == .exited(0))
            #expect(watching.output.split(separator: "\n").last?.contains("ended") == true, "\(watching.output)")
        }
    }

    @Test("a dry run shows the push and changes nothing; a payload is ready for curl and holds no token")
    func dryRunAndPayload() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            let traffic = try await system.simulator.traffic()
            let state = JSONValue.object(OperatorStage.content(minute: 9)).text
            let dry = try await stage.tally(
                "activities",
                "update",
                OperatorStage.id.rawValue,
                "--content-state",
                state,
                "--dry-run"
            )
            #expect(dry.ending == .exited(0), "\(dry.errors)")
            #expect(dry.output.contains("update to 1 update tokens"))
            #expect(dry.output.contains("priority 5"))
            let curl = try await stage.tally("payload", OperatorStage.id.rawValue, "--format", "curl")
            #expect(curl.output.contains("$AUTHENTICATION_TOKEN") && curl.output.contains("$ACTIVITY_PUSH_TOKEN"))
            let tokens = try await EngineTables(system.database).cards().compactMap(\.token)
            #expect(!tokens.isEmpty && tokens.allSatisfy { !curl.output.contains($0) })
            let simctl = try await stage.tally("payload", OperatorStage.id.rawValue, "--format", "simctl")
            let file = try JSONValue(parsing: simctl.output)
            #expect(file["Simulator Target Bundle"]?.string == TallySystem.app.rawValue)
            #expect(file["aps"]?["content-state"] == .object(OperatorStage.content(minute: 0)))
            #expect(try await system.activity(OperatorStage.id).revision == 1)
            #expect(try await system.simulator.traffic() == traffic)
        }
    }

    @Test("schedules are listed, run before their time and cancelled")
    func schedules() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            for minute in [5, 6] as [Int64] {
                let posted = try await stage.tally(
                    "activities",
                    "update",
                    OperatorStage.id.rawValue,
                    "--content-state",
                    JSONValue.object(OperatorStage.content(minute: minute)).text,
                    "--at",
                    Clock.inSeconds(3_600).description
                )
                #expect(posted.ending == .exited(0), "\(posted.errors)")
            }
            let listed = try await stage.tally("schedules", "list", "--state", "pending", "--json")
            let items = try Page<ScheduleResource>(json: try JSONValue(parsing: listed.output)).items
            #expect(items.map(\.state) == [.pending, .pending])
            let cancelled = try await stage.tally("schedules", "cancel", try #require(items.last).id)
            #expect(cancelled.ending == .exited(0))
            let ran = try await stage.tally("schedules", "run", try #require(items.first).id)
            #expect(ran.output.contains("done"), "\(ran.output)\(ran.errors)")
            let shown = try await stage.tally("schedules", "show", try #require(items.last).id)
            #expect(shown.output.contains("cancelled"), "\(shown.output)\(shown.errors)")
            #expect(try await system.activity(OperatorStage.id).revision == 2)
        }
    }

    @Test("events are listed from the oldest, and followed from now on over a restart of the daemon")
    func events() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            // An event is listed once no older one can come any more. Whoever follows from then on comes after it.
            try await eventually("the start is listed") {
                try await stage.tally("events", "--activity", OperatorStage.id.rawValue).output
                    .contains("change_accepted  \(TallySystem.app) \(OperatorStage.id)")
            }
            let following = try await RunningProgram.start(
                "tally",
                ["events", "--follow", "--kind", "change_accepted", "--json"],
                environment: ["TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey],
                in: system.folder
            )
            // It begins at some moment from now on; so it is fed until it has begun.
            var minute: Int64 = 1
            try await eventually("the follower hears of an update") {
                try await stage.post(minute: minute)
                minute += 1
                return following.output.contains(#""event":"update""#)
            }
            #expect(!following.output.contains(#""event":"start""#))
            await system.killDaemon()
            try await system.startDaemon()
            _ = try await stage.tally("activities", "end", OperatorStage.id.rawValue)
            let last = try await eventually("the follower hears of the end") {
                following.output.split(separator: "\n").last { $0.contains(#""event":"end""#) }
            }
            let event = try EventResource(json: try JSONValue(parsing: String(last)))
            #expect(event.kind == "change_accepted" && event.activityID == OperatorStage.id)
            await following.kill()
        }
    }

    @Test("an ordinary push is sent and told of, and a ticket lets an app report its own device and no other")
    func sendAndTicket() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            let made = try await stage.tally("devices", "ticket", "mine", "--environment", "production", "--json")
            let ticket = try #require(try JSONValue(parsing: made.output)["ticket"]?.string, "\(made.errors)")
            let app = system.api(key: ticket)
            let report = Array(#"{"environment":"production","device_token":"00aa11bb"}"#.utf8)
            let devices = "/v1/apps/\(TallySystem.app)/devices"
            #expect(try await app.send("PUT", "\(devices)/mine", report).status == 200)
            #expect(try await app.send("PUT", "\(devices)/another", report).status == 403)
            let dry = try await stage.tally("send", "--device", "mine", "--title", "Hello", "--dry-run", "--json")
            #expect(try JSONValue(parsing: dry.output)["aps"]?["alert"]?["title"]?.string == "Hello")
            let sent = try await stage.tally("send", "--device", "mine", "--title", "Hello")
            #expect(sent.output.contains("accepted for 1 token"), "\(sent.errors)")
            // The simulator knows no such token; what Apple says of it is told either way.
            try await eventually("what came of the push is told") {
                try await stage.tally("events", "--kind", "push_sent", "--kind", "push_failed").output
                    .contains("\(TallySystem.app) mine")
            }
        }
    }

    @Test("a profile serves as address and key, unless others can read its file; what is missing is said")
    func profiles() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            let path = system.folder.path("profiles.json")
            let profiles: JSONValue = [
                "default": "here",
                "profiles": ["here": ["url": .string(system.url), "key": .string(TallySystem.adminKey)]],
            ]
            let bare = ["TALLY_URL": "", "TALLY_API_KEY": "", "TALLY_CONFIG": path]
            try Data(profiles.serialized()).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
            #expect(try await stage.tally("apps", "list", environment: bare).ending == .exited(0))
            chmod(path, 0o644)
            let open = try await stage.tally("apps", "list", environment: bare)
            #expect(open.ending == .exited(64))
            #expect(open.errors.contains("chmod 600"))
            let nothing = try await stage.tally(
                "apps",
                "list",
                environment: ["TALLY_URL": "", "TALLY_API_KEY": "", "TALLY_CONFIG": system.folder.path("none")]
            )
            #expect(nothing.ending == .exited(64))
            #expect(nothing.errors.contains("TALLY_URL") && nothing.errors.contains("--url"))
            let key = try await system.client().createKey(APIKeyRequest(name: "looks", scopes: [.read])).secret ?? ""
            let poor = try await stage.tally("channels", "create", environment: ["TALLY_API_KEY": key])
            #expect(poor.ending == .exited(1))
            #expect(poor.errors.contains("--scope operate"), "\(poor.errors)")
        }
    }

    @Test("tallyd health tells a daemon that is ready from one that is not there")
    func health() async throws {
        try await TallySystem.with { system in
            let ready = try await RunningProgram.run(
                "tallyd",
                ["health"],
                environment: system.settings,
                in: system.folder
            )
            #expect(ready.ending == .exited(0), "\(ready.errors)")
            await system.killDaemon()
            let gone = try await RunningProgram.run(
                "tallyd",
                ["health"],
                environment: system.settings,
                in: system.folder
            )
            #expect(gone.ending == .exited(1))
            #expect(gone.errors.contains("not ready"))
        }
    }

    @Test("completions are made for every shell, and bash can read its own", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        for program in ["tally", "tallyd"] {
            let made = try await RunningProgram.run(program, ["--generate-completion-script", shell], in: folder)
            #expect(made.ending == .exited(0))
            #expect(made.output.contains(program == "tally" ? "activities" : "migrate"))
            guard shell == "bash" else { continue }
            try Data(made.output.utf8).write(to: folder.url.appending(path: program))
            try await Shell.run("bash -n \(program)", in: folder)
        }
    }
}
