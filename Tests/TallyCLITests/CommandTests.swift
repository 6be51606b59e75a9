import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import MatchReplay
import SwiftContent
import Testing

@testable import tally

/// Parses a command line as the program does.
private func parse<Command>(_: Command.Type, _ words: String...) throws -> Command {
    try #require(try TallyCommand.parseAsRoot(words) as? Command)
}

@Suite("Command lines")
struct CommandTests {
    @Test("devices put makes a report of what was given and of nothing else")
    func device() throws {
        let bare = try parse(Devices.Put.self, "devices", "put", "phone-1", "--environment", "sandbox")
        #expect(bare.request == DeviceRequest(environment: .sandbox))
        let full = try parse(
            Devices.Put.self,
            "devices",
            "put",
            "phone-1",
            "--environment",
            "production",
            "--user",
            "fan",
            "--os-version",
            "18.1",
            "--start-token",
            "Game=ABcd:7",
            "--start-token",
            "Order=0123",
            "--no-activities",
            "--frequent-pushes"
        )
        let token = try #require(PushToken(hex: "abcd"))
        let other = try #require(PushToken(hex: "0123"))
        #expect(full.request.user.id?.rawValue == "fan")
        #expect(full.request.activitiesEnabled == false)
        #expect(full.request.frequentPushesEnabled == true)
        #expect(
            full.request.startTokens == [
                ActivityTypeName(stored: "Game"): StartTokenRequest(token: token, generation: 7),
                ActivityTypeName(stored: "Order"): StartTokenRequest(token: other),
            ]
        )
    }

    @Test("devices list finds a device by all of a token or by its beginning")
    func deviceToken() throws {
        let command = try parse(Devices.List.self, "devices", "list", "--token", "80F4")
        #expect(command.token?.value == PushToken(hex: "80f4"))
    }

    @Test("devices put says that nobody is signed in, and which installation it is")
    func signedOut() throws {
        let words = ["devices", "put", "phone-1", "--environment", "sandbox", "--signed-out", "--installation", "i-2"]
        let command = try #require(try TallyCommand.parseAsRoot(words) as? Devices.Put)
        #expect(command.request == DeviceRequest(environment: .sandbox, user: .nobody, installation: "i-2"))
        #expect(throws: (any Error).self) { try TallyCommand.parseAsRoot(words + ["--user", "fan"]) }
    }

    @Test("activities audience takes an alert for those who are added")
    func audienceAlert() throws {
        let alert = ["--alert-title", "T", "--alert-body", "B"]
        let added = ["activities", "audience", "match-1", "--add-user", "u1"]
        let command = try #require(try TallyCommand.parseAsRoot(added + alert) as? Activities.ChangeAudience)
        let request = try command.request()
        #expect(request.alert == AlertContent(title: .plain("T"), body: .plain("B")))
        #expect(request.add == Audience(users: [UserID(stored: "u1")]))
        let removed = ["activities", "audience", "match-1", "--remove-user", "u1"]
        #expect(throws: (any Error).self) { try TallyCommand.parseAsRoot(removed + alert) }
        for file in ["fans.ndjson", "-"] {
            let list = ["activities", "audience", "match-1", "--file", file, "--idempotency-key", "k"]
            let sent = try #require(try TallyCommand.parseAsRoot(list + alert) as? Activities.ChangeAudience)
            #expect(sent.file == file && sent.idempotencyKey == "k")
            #expect(throws: (any Error).self) { try TallyCommand.parseAsRoot(list + ["--add-user", "u1"]) }
        }
    }

    @Test(
        "What every command takes may stand before the command, among its words and behind them",
        arguments: [
            "--profile staging activities list --state live", "activities --profile staging list --state live",
            "activities list --profile staging --state live", "activities list --state live --profile staging",
            "--profile=staging activities list --state live",
        ]
    )
    func globalOptions(line: String) throws {
        let words = GlobalOptionOrder.behindCommand(line.split(separator: " ").map(String.init))
        let command = try #require(try TallyCommand.parseAsRoot(words) as? Activities.List)
        #expect(command.global.profile == "staging")
        #expect(command.state == .live)
    }

    @Test("All of them may, and the last one counts; without a command nothing is moved")
    func allGlobalOptions() throws {
        let before = [
            "--url", "http://a", "--key", "k", "--profile", "p", "--ca-file", "f", "--app", "com.example.a", "--json",
        ]
        let words = GlobalOptionOrder.behindCommand(before + ["activities", "list", "--profile", "q"])
        let command = try #require(try TallyCommand.parseAsRoot(words) as? Activities.List)
        #expect(command.global.url == "http://a")
        #expect(command.global.key == "k")
        #expect(command.global.profile == "q")
        #expect(command.global.caFile == "f")
        #expect(command.global.json)
        #expect(command.app.app == "com.example.a")
        for line in [["--help"], ["--profile", "p"], ["--profile"], [], ["help", "activities"], ["--version"]] {
            #expect(GlobalOptionOrder.behindCommand(line) == line)
        }
    }

    @Test("activities start takes JSON as text, an audience and an alert")
    func start() throws {
        let command = try parse(
            Activities.Start.self,
            "activities",
            "start",
            "match-1",
            "--type",
            "Game",
            "--attributes",
            #"{"a":1}"#,
            "--content-state",
            "{}",
            "--delivery",
            "channel",
            "--user",
            "u1",
            "--user",
            "u2",
            "--device",
            "d1",
            "--all-of-type",
            "--alert-title",
            "T",
            "--alert-body",
            "B",
            "--ends-at",
            "2022-12-18T21:00:00+03:00"
        )
        let request = try command.request()
        #expect(request.attributes == ["a": 1])
        #expect(request.delivery == .channel)
        #expect(request.audience.users.count == 2)
        #expect(request.audience.allOfType)
        #expect(request.alert == AlertContent(title: .plain("T"), body: .plain("B")))
        #expect(request.endsAt?.description == "2022-12-18T18:00:00Z")
    }

    @Test("channels reconcile changes things unless it is told to look only")
    func reconcile() throws {
        let bare = try parse(Channels.Reconcile.self, "channels", "reconcile")
        #expect(!bare.dryRun && bare.environment == nil)
        let look = try parse(Channels.Reconcile.self, "channels", "reconcile", "--dry-run", "--environment", "sandbox")
        #expect(look.dryRun && look.environment == .sandbox)
    }

    @Test("send makes an alert of its words, or takes aps as it is, and knows the rules of the API before it sends")
    func send() throws {
        let alert = try parse(Send.self, "send", "--user", "fan", "--title", "T", "--body", "B", "--sound", "default")
        #expect(
            try alert.request()
                == PushRequest(
                    to: .user(UserID(stored: "fan")),
                    pushType: .alert,
                    aps: ["alert": ["title": "T", "body": "B"], "sound": "default"]
                )
        )
        let background = try parse(
            Send.self,
            "send",
            "--device",
            "d",
            "--type",
            "background",
            "--aps",
            #"{"content-available":1}"#,
            "--custom",
            #"{"match":"final"}"#,
            "--priority",
            "5",
            "--collapse-id",
            "final"
        )
        let request = try background.request()
        #expect(request.pushType == .background && request.priority == .five && request.collapseID == "final")
        #expect(request.custom == ["match": "final"])
        let wrong = try parse(Send.self, "send", "--device", "d", "--type", "voip", "--aps", "{}")
        #expect(throws: Problem.self) { try wrong.request() }
    }

    @Test("a ticket is for what is named, and for an hour if nothing else is said")
    func ticket() throws {
        let words = ["devices", "ticket", "d", "--environment", "sandbox", "--user", "u", "--activity", "a"]
        let command = try #require(try TallyCommand.parseAsRoot(words) as? Devices.Ticket)
        #expect(
            command.request
                == RegistrationTicketRequest(
                    environment: .sandbox,
                    deviceID: DeviceID(stored: "d"),
                    userID: UserID(stored: "u"),
                    activities: [ActivityID(stored: "a")],
                    ttlSeconds: 3_600
                )
        )
    }

    @Test("activities audience adds some and takes others out, and names no side that is empty")
    func audience() throws {
        let words = ["activities", "audience", "m", "--add-user", "u1", "--add-user", "u2", "--add-all-of-type"]
        let adding = try #require(try TallyCommand.parseAsRoot(words) as? Activities.ChangeAudience)
        let users = ["u1", "u2"].map(UserID.init(stored:))
        #expect(try adding.request() == AudienceRequest(add: Audience(users: users, allOfType: true)))
        let removing = try parse(
            Activities.ChangeAudience.self,
            "activities",
            "audience",
            "m",
            "--remove-device",
            "d",
            "--remove-user",
            "u1"
        )
        let out = Audience(users: [users[0]], devices: [DeviceID(stored: "d")])
        #expect(try removing.request() == AudienceRequest(remove: out))
    }

    @Test("activities subscribe reports one of four things, by the rules of the API")
    func subscribe() throws {
        func request(_ words: String...) throws -> SubscriptionRequest {
            let command = try TallyCommand.parseAsRoot(["activities", "subscribe", "m", "d"] + words)
            return try #require(command as? Activities.Subscribe).request()
        }
        let token = try #require(PushToken(hex: "abcd"))
        #expect(
            try request("--update-token", "ABcd", "--generation", "3", "--known-revision", "0", "--activitykit-id", "x")
                == SubscriptionRequest(.updateToken(token), generation: 3, knownRevision: 0, activityKitID: "x")
        )
        #expect(try request("--channel", "--environment", "sandbox").environment == .sandbox)
        #expect(try request("--channel-id", "aGVsbG8=").report == .channelID(APNSChannelID(stored: "aGVsbG8=")))
        #expect(try request("--ended") == SubscriptionRequest(.ended))
        #expect(throws: Problem.self) { try request("--ended", "--generation=-1") }
    }

    @Test("the lines of an alert are texts, or keys that the app translates")
    func alertKeys() throws {
        let command = try #require(
            try TallyCommand.parseAsRoot([
                "activities", "update", "m", "--content-state", "{}", "--alert-title-loc-key", "GOAL",
                "--alert-title-loc-arg", "Ajax", "--alert-title-loc-arg", "1", "--alert-body", "B", "--alert-sound",
                "default",
            ]) as? Activities.Update
        )
        let title = AlertText.localized(key: "GOAL", arguments: ["Ajax", "1"])
        #expect(try command.request().alert == AlertContent(title: title, body: .plain("B"), sound: "default"))
    }

    @Test("activities end knows both ways of dismissal")
    func end() throws {
        let after = try parse(Activities.End.self, "activities", "end", "m", "--dismiss-after", "0")
        #expect(try after.request() == EndRequest(dismissal: .after(seconds: 0)))
        let at = try parse(Activities.End.self, "activities", "end", "m", "--dismiss-at", "2022-12-18T18:00:00Z")
        #expect(try at.request().dismissal == .at(Instant(unixSeconds: 1_671_386_400)))
    }

    @Test("apps put names the channel settings only where they are given, and can take them back")
    func apps() throws {
        let words = ["apps", "put", "com.example", "--team-id", "TEAM567890", "--production-key-id", "ABCDEFGHIJ"]
        let bare = try #require(try TallyCommand.parseAsRoot(words) as? Apps.Put)
        let key = SigningKeyRequest(keyID: KeyID(stored: "ABCDEFGHIJ"))
        #expect(
            try bare.request() == AppRequest(teamID: TeamID(stored: "TEAM567890"), environments: [.production: key])
        )
        let options = ["--channel-pool", "0", "--no-channels-exclusive"]
        let full = try #require(try TallyCommand.parseAsRoot(words + options) as? Apps.Put)
        #expect(try full.request().channelPool == 0 && full.request().channelsExclusive == false)
    }

    @Test("keys create takes several scopes and a bundle id")
    func keys() throws {
        let command = try parse(
            Keys.Create.self,
            "keys",
            "create",
            "backend",
            "--scope",
            "publish",
            "--scope",
            "read",
            "--app",
            "com.example"
        )
        #expect(command.scope == [.publish, .read])
        #expect(command.app?.value.rawValue == "com.example")
    }

    @Test("a ticket key is made for ES256, and revoked at once, unless the options say otherwise")
    func ticketKeys() throws {
        let made = try parse(TicketKeys.Create.self, "apps", "ticket-key", "create", "com.example")
        #expect(made.algorithm == .es256)
        let shared = try parse(
            TicketKeys.Create.self,
            "apps",
            "ticket-key",
            "create",
            "com.example",
            "--algorithm",
            "HS256"
        )
        #expect(shared.algorithm == .hs256)
        let words = ["apps", "ticket-key", "revoke", "com.example", "0D1B4F86-7F5C-4F0E-9D59-0A6F6E4F6C11"]
        let now = try #require(try TallyCommand.parseAsRoot(words) as? TicketKeys.Revoke)
        #expect(now.seconds == 0)
        #expect(now.id.value.text == "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11")
        let later = try #require(try TallyCommand.parseAsRoot(words + ["--after", "30d"]) as? TicketKeys.Revoke)
        #expect(later.seconds == 2_592_000)
    }

    @Test("a webhook gets all events and no secret of ours, unless the options say otherwise")
    func webhooks() throws {
        let plain = try parse(WebhooksCommand.Put.self, "webhooks", "put", "audit", "https://hooks.example.com")
        #expect(try plain.request() == WebhookRequest(url: "https://hooks.example.com"))
        let words = [
            "webhooks", "put", "audit", "https://hooks.example.com", "--event", "demoted", "--max-events", "7",
        ]
        let narrow = try #require(try TallyCommand.parseAsRoot(words + ["--paused"]) as? WebhooksCommand.Put)
        #expect(
            try narrow.request()
                == WebhookRequest(url: "https://hooks.example.com", events: ["demoted"], isPaused: true, maxEvents: 7)
        )
        let replay = try parse(WebhooksCommand.ReplayEvents.self, "webhooks", "replay", "audit", "--since", "2h")
        #expect(replay.since.value == PointInTime(commandLine: "2h"))
    }

    @Test("tickets are revoked as of now, unless a time is given")
    func revokedTickets() throws {
        let start = Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        let user = try parse(Users.RevokeTickets.self, "users", "revoke-tickets", "ada")
        #expect(user.moment.instant >= start)
        let device = try parse(
            Devices.RevokeTickets.self,
            "devices",
            "revoke-tickets",
            "phone-1",
            "--before",
            "2022-12-18T15:00:00Z"
        )
        #expect(device.moment.instant == Instant(unixSeconds: 1_671_375_600))
    }

    @Test(
        "wrong usage is found before anything is sent",
        arguments: [
            ["devices", "put", "phöne", "--environment", "sandbox"],
            ["devices", "put", "phone-1"],
            ["devices", "put", "phone-1", "--environment", "staging"],
            ["devices", "put", "phone-1", "--environment", "sandbox", "--start-token", "Game"],
            ["devices", "put", "phone-1", "--environment", "sandbox", "--start-token", "Game=xyz"],
            ["devices", "put", "phone-1", "--environment", "sandbox", "--start-token", "Game=ab:-1"],
            ["apps", "put", "com.example", "--team-id", "TEAM567890"],
            ["apps", "put", "com.example", "--team-id", "TEAM", "--sandbox-key-id", "ABCDEFGHIJ"],
            ["apps", "put", "com.example", "--team-id", "TEAM567890", "--production-key-file", "x"],
            ["apps", "ticket-key", "create", "com.example", "--algorithm", "none"],
            ["apps", "ticket-key", "revoke", "com.example", "not-a-uuid"],
            ["apps", "ticket-key", "revoke", "com.example", "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11", "--after", "91d"],
            ["webhooks", "put", "audit"], ["webhooks", "put", "audit", "https://a.example", "--max-events", "1001"],
            ["webhooks", "replay", "audit"],
            ["keys", "create", "backend"],
            ["keys", "create", "backend", "--scope", "root"],
            ["types", "import"], ["types", "lint"], ["types", "diff"], ["types", "diff", "a", "b", "c"],
            ["types", "put", "Game"],
            ["types", "put", "Game", "--attributes-schema", "a", "--swift", "b"],
            ["types", "validate", "Game"],
            ["activities", "end", "m", "--dismiss-after", "1", "--dismiss-at", "2022-12-18T18:00:00Z"],
            ["activities", "update", "m", "--content-state", "{}", "--alert-title", "T"],
            [
                "activities", "update", "m", "--content-state", "{}", "--alert-title", "T", "--alert-body", "B",
                "--alert-body-loc-arg", "x",
            ],
            [
                "activities", "update", "m", "--content-state", "{}", "--alert-title", "T", "--alert-title-loc-key",
                "K",
                "--alert-body", "B",
            ],
            ["activities", "update", "m", "--content-state", "{}", "--alert-sound", "default"],
            ["activities", "audience", "m"], ["activities", "audience", "m", "--add-user", "ü"],
            ["activities", "subscribe", "m", "d"], ["activities", "subscribe", "m", "d", "--channel", "--ended"],
            ["activities", "unsubscribe", "m"], ["users", "erase"],
            ["activities", "subscriptions"], ["activities", "subscriptions", "m", "--state", "lost"],
            ["devices", "list", "--user", "ü"], ["devices", "list", "--token", "80f"],
            ["schedules", "list", "--state", "due"],
            ["apps", "delete", "com.example", "--deadline", "0"], ["events", "--since", "yesterday"],
            ["activities", "end", "m", "--dismiss-after", "10 m"], ["apps", "list", "-o", "yaml"],
            ["activities", "list", "--limit", "0"],
            ["channels", "delete", "not-a-uuid"],
            ["schedules", "cancel", "not-a-uuid"],
            ["activities", "watch", "m", "--interval", "0"],
            ["activities", "watch", "m", "--timeout", "0"],
            ["doctor", "--environment", "staging"],
            ["send", "--title", "T"],
            ["send", "--device", "d", "--user", "u", "--title", "T"],
            ["send", "--device", "d", "--environment", "sandbox", "--title", "T"],
            ["send", "--device", "d", "--aps", "{}", "--title", "T"],
            ["send", "--device", "d", "--type", "sms"],
            ["send", "--device", "d", "--priority", "7"],
            ["devices", "ticket", "d", "--environment", "sandbox", "--ttl", "86401"],
            ["replay", "x.json", "--speed", "0"],
            ["replay", "x.json", "--audience", "final"],
        ]
    )
    func wrongUsage(words: [String]) {
        #expect { try TallyCommand.parseAsRoot(words) } throws: { error in
            TallyCommand.exitCode(for: error) == .validationFailure
        }
    }

    @Test(
        "a word that is none of those allowed is answered with those that are",
        arguments: [
            (["doctor", "--environment", "prod"], ["sandbox", "production"]),
            (["activities", "list", "--state", "running"], ["scheduled", "live", "ended"]),
            (["channels", "create", "--storage", "all"], ["none", "most_recent"]),
            (["keys", "create", "k", "--scope", "root"], ["admin", "operate", "publish", "register", "read"]),
            (
                ["activities", "update", "m", "--content-state", "{}", "--urgency", "high"],
                ["routine", "notable", "critical"]
            ),
        ]
    )
    func typingMistakes(words: [String], allowed: [String]) throws {
        let error = try #require(throws: (any Error).self) { try TallyCommand.parseAsRoot(words) }
        let text = TallyCommand.fullMessage(for: error)
        for word in allowed { #expect(text.contains("'\(word)'"), "\(text)") }
    }

    @Test("types import makes schemas of several files, with schemas that are supplied")
    func typesImport() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // What is left in /tmp harms nobody.
        let files = [
            "Game.swift": "struct Game: ActivityAttributes { typealias ContentState = State }",
            "State.swift": "struct State: Codable, Hashable { var price: Money }",
            "money.json": #"{"type":"string"}"#,
        ]
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let paths = ["Game.swift", "State.swift"].map { folder.appending(path: $0).path }
        let bare = try parse(Types.Import.self, "types", "import", paths[0], paths[1], "--print")
        #expect(bare.print)
        let error = try await #require(throws: SwiftImportError.self) { try await bare.reading.schemas(of: bare.files) }
        let report = try #require(ErrorReport(error))
        #expect(report.exitCode == .failure)
        #expect(report.text.contains("\(paths[1]):1:46: what 'Money' encodes as is not known"))
        let money = "Money=\(folder.appending(path: "money.json").path)"
        let full = try parse(Types.Import.self, "types", "import", paths[0], paths[1], "--supply", money)
        #expect(try await full.reading.schemas(of: full.files).typeName == "Game")
        let wrong = try parse(Types.Import.self, "types", "import", paths[0], "--supply", "Money")
        await #expect(throws: UsageError.self) { try await wrong.reading.schemas(of: wrong.files) }
    }

    @Test("JSON that is none, or no object, is said so")
    func badJSON() throws {
        let syntax = try #require(JSONArgument(argument: "{a}"))
        #expect(throws: UsageError.self) { try syntax.object(of: "--attributes") }
        let array = try #require(JSONArgument(argument: "[]"))
        #expect(throws: UsageError("--attributes must be a JSON object.")) { try array.object(of: "--attributes") }
        let missing = try #require(JSONArgument(argument: "@/nonexistent/file.json"))
        #expect(throws: UsageError.self) { try missing.object(of: "--attributes") }
    }

    @Test("a replay takes audiences, a suffix and an environment for the recording's activities")
    func replay() throws {
        let path = FileManager.default.temporaryDirectory.path + "/replay-\(UUID().uuidString).json"
        let recording: JSONValue = [
            "type": "Game", "attributes": [:], "activities": [["activity_id": "a"], ["activity_id": "b"]],
            "posts": [["at_seconds": 0, "kind": "start", "content_state": [:]]],
        ]
        try Data(recording.serialized()).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in the temporary folder does no harm
        let command = try parse(
            Replay.self,
            "replay",
            path,
            "--speed",
            "120",
            "--audience",
            "b=all",
            "--suffix",
            "-2",
            "--environment",
            "sandbox"
        )
        let file = try command.file()
        #expect(file.activities.map(\.activityID.rawValue) == ["a-2", "b-2"])
        #expect(file.activities.map(\.audience.allOfType) == [false, true])
        #expect(file.environment == .sandbox)
        let unknown = try parse(Replay.self, "replay", path, "--audience", "c=all")
        #expect(throws: UsageError.self) { try unknown.file() }
    }
}

@Suite("Confirmation")
struct ConfirmationTests {
    private func outcome(_ answer: String?, isTerminal: Bool = true, _ words: String...) throws -> [String] {
        var asked: [String] = []
        let confirmation = Confirmation(isTerminal: isTerminal, ask: { asked.append($0) }, answer: { answer })
        try confirmation.require("com.x", of: "the app com.x at http://h", given: .parse(words))
        return asked
    }

    @Test("on a terminal the id itself is the only answer that goes on")
    func terminal() throws {
        #expect(try outcome("com.x") == ["This deletes the app com.x at http://h, for good. Its id once more: "])
        for answer in ["y", "yes", "", "com.y", nil] {
            let error = try #require(throws: UsageError.self) { try outcome(answer) }
            #expect(error.message.contains("nothing was done"))
        }
    }

    @Test("nothing is asked without a terminal, nor with --yes")
    func unasked() throws {
        #expect(try outcome(nil, isTerminal: false).isEmpty)
        #expect(try outcome(nil, "--yes").isEmpty)
        let command = try TallyCommand.parseAsRoot(["apps", "delete", "com.x", "--yes"]) as? Apps.Delete
        #expect(command?.confirmation.yes == true)
    }
}
