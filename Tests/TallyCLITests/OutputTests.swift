import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import ReportTypes
import SwiftContent
import TallyClient
import Testing

@testable import tally

private let time = Instant(unixSeconds: 1_671_375_600)

@Suite("Tables")
struct TableTests {
    @Test("columns are aligned, numbers at the right, empty cells marked")
    func table() {
        let table = Table(
            columns: [.init(title: "ACTIVITY"), .init(title: "N", isNumber: true), .init(title: "STATE")],
            rows: [["a", "1", "live"], ["long-name", "1000", ""]]
        )
        #expect(
            table.text == """
                ACTIVITY      N  STATE
                a             1  live
                long-name  1000  -
                """
        )
    }

    @Test("extra columns are left out, the last first, until the rest fits; without a width all are shown")
    func narrow() {
        let table = Table(
            columns: [
                .init(title: "NAME"), .init(title: "FIRST", isExtra: true), .init(title: "STATE"),
                .init(title: "LAST", isExtra: true),
            ],
            rows: [["activity", "1", "live", "2"]]
        )
        func head(_ width: Int?) -> String { String(table.text(width: width).prefix { $0 != "\n" }) }
        #expect(head(nil) == "NAME      FIRST  STATE  LAST")
        #expect(head(28) == "NAME      FIRST  STATE  LAST")
        #expect(head(27) == "NAME      FIRST  STATE")
        #expect(head(21) == "NAME      STATE")
        #expect(head(5) == "NAME      STATE", "what is not extra stays")
    }

    @Test(
        "lists fit on 80 columns with ids as long as they usually are",
        arguments: [
            ("activities", ActivityResource.columns, [20, 15, 9, 8, 8, 7, 7, 7, 20]),
            ("keys", APIKeyResource.columns, [12, 18, 7, 36, 20, 20, 20, 20]),
            ("ticket keys", TicketKeyResource.columns, [36, 5, 20, 20]),
            ("devices", DeviceResource.columns, [36, 12, 10, 5, 8, 15, 20]),
            ("channels", ChannelResource.columns, [36, 24, 10, 11, 8, 20, 20]),
            ("schedules", ScheduleResource.columns, [36, 11, 6, 20, 7, 20]),
            ("subscriptions", SubscriptionResource.columns, [36, 7, 17, 20, 8, 5, 20, 20, 20]),
        ] as [(String, [Table.Column], [Int])]
    )
    func lists(name: String, columns: [Table.Column], widths: [Int]) {
        let table = Table(columns: columns, rows: [widths.map { String(repeating: "x", count: $0) }])
        let lines = table.text(width: 80).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(name): \(lines)")
    }

    @Test("a key that no longer works is told from one that does, also on 80 columns")
    func keyStates() throws {
        func key(expires: Instant? = nil, revoked: Instant? = nil) -> APIKeyResource {
            APIKeyResource(
                id: "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11",
                name: "backend",
                scopes: [.publish],
                createdAt: time,
                expiresAt: expires,
                revokedAt: revoked
            )
        }
        let later = Instant(unixSeconds: 1_671_375_601)
        #expect(key().state(at: time) == "active")
        #expect(key(expires: later).state(at: time) == "active")
        #expect(key(expires: time).state(at: time) == "expired")
        #expect(key(expires: later, revoked: time).state(at: later) == "revoked")
        let table = Page(items: [key(revoked: time)]).table.text(width: 80)
        #expect(
            table == """
                NAME     SCOPES   STATE    ID                                    APP  LAST USED
                backend  publish  revoked  0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11  -    -
                """
        )
    }

    @Test("a schedule shows its id and kind, also on 80 columns")
    func scheduleKinds() {
        let schedule = ScheduleResource(
            id: "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11",
            activityID: ActivityID(stored: "match-1"),
            kind: .end,
            dueAt: time,
            state: .pending
        )
        #expect(
            Page(items: [schedule]).table.text(width: 80) == """
                SCHEDULE                              ACTIVITY  KIND  DUE
                0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11  match-1   end   2022-12-18T15:00:00Z
                """
        )
    }

    @Test("times in a table have whole seconds; a card and JSON have all of it")
    func wholeSeconds() {
        let key = TicketKeyResource(
            id: "k",
            algorithm: .es256,
            createdAt: Instant(microseconds: 1_671_375_600_987_654)
        )
        #expect(key.row == ["k", "ES256", "2022-12-18T15:00:00Z", ""])
        #expect(key.text.contains("2022-12-18T15:00:00.987654Z"))
        #expect(key.json["created_at"] == "2022-12-18T15:00:00.987654Z")
    }

    @Test("an empty table is its head")
    func empty() {
        #expect(Page<ChannelResource>(items: []).table.text.hasPrefix("CHANNEL  APNS CHANNEL"))
    }

    @Test("every list has as many cells as columns")
    func widths() throws {
        let schedule = DeliveryProgress()
        let activity = ActivityResource(
            activityID: ActivityID(stored: "a"),
            type: ActivityTypeName(stored: "Game"),
            environment: .sandbox,
            state: .live,
            revision: 3,
            timestamp: nil,
            delivery: .tokens,
            contentState: [:],
            attributes: [:],
            createdAt: time,
            progress: schedule,
            starts: StartProgress()
        )
        #expect(activity.row.count == ActivityResource.columns.count)
        let app = AppResource(
            bundleID: BundleID(stored: "com.example"),
            teamID: TeamID(stored: "TEAM567890"),
            channelsExclusive: false,
            channelPool: 0,
            environments: [:],
            createdAt: time,
            updatedAt: time
        )
        #expect(app.row.count == AppResource.columns.count)
        let key = APIKeyResource(id: "k", name: "n", scopes: [.read], createdAt: time)
        #expect(key.row.count == APIKeyResource.columns.count)
        let ticketKey = TicketKeyResource(id: "k", algorithm: .es256, createdAt: time)
        #expect(ticketKey.row.count == TicketKeyResource.columns.count)
        let hook = WebhookResource(id: WebhookID(stored: "w"), url: "u", maxEvents: 1, createdAt: time)
        #expect(hook.row.count == WebhookResource.columns.count)
        let device = DeviceResource(
            deviceID: DeviceID(stored: "d"),
            environment: .sandbox,
            activitiesEnabled: true,
            frequentPushesEnabled: true,
            createdAt: time,
            updatedAt: time
        )
        #expect(device.row.count == DeviceResource.columns.count)
        let channel = ChannelResource(
            id: ChannelID(stored: "c"),
            apnsChannelID: nil,
            environment: .sandbox,
            storage: .none,
            state: .creating,
            createdAt: time
        )
        #expect(channel.row.count == ChannelResource.columns.count)
        let type = TypeResource(
            name: ActivityTypeName(stored: "Game"),
            version: 1,
            attributesSchema: true,
            contentStateSchema: true,
            policy: Policy(),
            createdAt: time,
            updatedAt: time
        )
        #expect(type.row.count == TypeResource.columns.count)
    }

    @Test("a card lines up its values and indents blocks")
    func card() {
        let card = FactList([("id", "a"), ("state", "{\n  1\n}"), ("missing", nil)])
        #expect(
            card.text == """
                id     a
                state  {
                         1
                       }
                """
        )
    }

    @Test("a comparison of channels is a card and a table that says what happens to each")
    func channels() {
        var report = ChannelReport(
            environment: .production,
            dryRun: true,
            atApple: 2,
            known: 1,
            unused: 0,
            creating: 1,
            findings: [
                ChannelFinding(
                    kind: .lost,
                    action: .replace,
                    apnsChannelID: APNSChannelID(stored: "lost=="),
                    channelID: ChannelID(stored: "00000000-0000-4000-8000-000000000001"),
                    activityID: ActivityID(stored: "final")
                ),
                ChannelFinding(
                    kind: .unknown,
                    action: .keep,
                    apnsChannelID: APNSChannelID(stored: "new=="),
                    firstSeenAt: time
                ),
            ]
        )
        #expect(
            report.text == """
                environment  production
                at Apple     2 of 10000
                known        1
                never used   0
                being made   1

                FINDING  APNS CHANNEL  CHANNEL                               ACTIVITY  SEEN SINCE            OUTCOME
                lost     lost==        00000000-0000-4000-8000-000000000001  final     -                     to be replaced by another
                unknown  new==         -                                     -         2022-12-18T15:00:00Z  kept: the app is not channels_exclusive

                Nothing was changed (dry run).
                """
        )
        report.findings[0].isDone = true
        #expect(report.text.contains("  replaced by another\n"))
        report.findings = []
        #expect(report.text.hasSuffix("Tally and Apple agree."))
    }

    @Test("an entry of the audit log names who did what, and which members changed")
    func audit() {
        let entry = AuditEntry(
            id: 1,
            at: time,
            keyID: "k",
            keyName: "ops",
            requestID: "r",
            action: "app_changed",
            bundleID: BundleID(stored: "com.example"),
            subject: "com.example",
            before: ["channel_pool": 0, "team_id": "T"],
            after: ["channel_pool": 5, "team_id": "T"]
        )
        #expect(
            entry.row == ["2022-12-18T15:00:00Z", "ops", "app_changed", "com.example", "com.example", "channel_pool"]
        )
        #expect(entry.row.count == AuditEntry.columns.count)
    }

    @Test("a new key is shown with its secret and a word that it is shown once")
    func newKey() {
        var key = APIKeyResource(id: "k", name: "n", scopes: [.publish, .read], createdAt: time, secret: "s3cret")
        #expect(key.text.contains("secret  s3cret"))
        #expect(key.text.contains("this once"))
        key.secret = nil
        #expect(!key.text.contains("secret"))
    }

    @Test(
        "changes are told in one sentence",
        arguments: [
            (
                ChangeAnswer.accepted(
                    activityID: ActivityID(stored: "a"),
                    revision: 2,
                    timestamp: nil,
                    unchanged: false
                ), "a: revision 2 accepted."
            ),
            (
                .accepted(activityID: ActivityID(stored: "a"), revision: 2, timestamp: 1, unchanged: true),
                "a: equal to revision 2, so Tally sends nothing."
            ),
            (.scheduled(scheduleID: "s"), "Scheduled: s."),
        ]
    )
    func changes(answer: ChangeAnswer, text: String) {
        #expect(answer.text == text)
    }
}

@Suite("The registration of a type on the command line")
struct RegistrationTextTests {
    private func type(version: Int, leastVersion: String? = nil) -> TypeResource {
        TypeResource(
            name: ActivityTypeName(stored: "Game"),
            version: version,
            attributesSchema: true,
            contentStateSchema: true,
            policy: Policy(),
            minAppVersion: leastVersion.flatMap { AppVersion($0) },
            createdAt: time,
            updatedAt: time
        )
    }

    private func text(version: Int, changed: Bool, before: TypeResource?, after: TypeResource? = nil) -> String {
        let registration = TypeRegistration(
            version: version,
            changed: changed,
            lint: [],
            compatibility: SchemaCompatibility(compatible: true)
        )
        return RegistrationText(registration: registration, before: before, after: after).text
    }

    @Test("a new version is registered; without one, what changed is said")
    func outcomes() {
        let first = type(version: 1)
        #expect(text(version: 1, changed: true, before: nil) == "Version 1 is registered.")
        #expect(text(version: 2, changed: true, before: first) == "Version 2 is registered.")
        let same = text(version: 1, changed: false, before: first)
        #expect(same == "Version 1 is registered already; nothing changed.")
        let raised = text(version: 1, changed: true, before: first, after: type(version: 1, leastVersion: "2.0"))
        #expect(
            raised == """
                Version 1 stays, because the schemas are the same.
                  + /min_app_version: "2.0"
                """
        )
    }
}

@Suite("Words of others on a terminal")
struct PrintableOutputTests {
    @Test(
        "What acts on a terminal is shown, and does nothing",
        arguments: [
            ("key\u{1B}[2Jname", "key\\u001b[2Jname"), ("\u{1B}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9B}8m", "\\u009b8m"), ("a\rb", "a\\u000db"), ("\u{202E}gpj.exe", "\\u202egpj.exe"),
            ("two\nlines\tand é 👨‍👩‍👧", "two\nlines\tand é 👨‍👩‍👧"),
        ]
    )
    func printable(text: String, shown: String) {
        #expect(Style.printable(text) == shown)
    }

    @Test("Our own colours stay")
    func colours() {
        for meaning in Style.Meaning.allCases {
            let text = Style(isColoured: true).text("word", meaning)
            #expect(text.hasPrefix("\u{1B}["))
            #expect(Style.printable(text) == text)
        }
    }

    @Test("JSON stays the same JSON")
    func json() throws {
        let value: JSONValue = ["name": "a\u{9B}b\u{7F}\u{2028}\u{1B}c"]
        #expect(try JSONValue(parsing: Style.printable(value.text)) == value)
    }
}

@Suite("Indented JSON")
struct IndentedJSONTests {
    @Test("objects and arrays are indented, empty ones are not, digits stay")
    func indented() throws {
        let json = try JSONValue(parsing: #"{"a":[1,{"b":1.50}],"c":{},"d":[],"e\n":null}"#)
        let expected = #"""
            {
              "a": [
                1,
                {
                  "b": 1.50
                }
              ],
              "c": {},
              "d": [],
              "e\n": null
            }
            """#
        #expect(json.indentedText == expected)
    }
}

@Suite("Lint on the command line")
struct LintReportTests {
    @Test("Sizes and findings are shown, and said as JSON")
    func report() {
        let report = LintReport(
            ImportedSchemas(
                typeName: "Game",
                attributes: ["type": "object", "properties": ["homeScore": ["type": "number"]]],
                contentState: ["type": "string"]
            )
        )
        let lines = report.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(
            Array(lines.prefix(4)) == [
                "type           Game", "attributes     at most 39 bytes", "content state  without a size limit",
                "  attributes /properties/homeScore: float_for_count",
            ]
        )
        #expect(lines.contains("  content_state as a whole: unbounded_string"))
        #expect(report.json["largest_bytes"] == ["attributes": 39])
        #expect(report.json["lint"]?.array?.map { $0["code"]?.string } == ["float_for_count", "unbounded_string"])
        let fine = LintReport(ImportedSchemas(typeName: "G", attributes: false, contentState: ["type": "boolean"]))
        #expect(fine.text.hasSuffix("at most 5 bytes\nNo findings."))
    }

    @Test("Schemas come from Swift files, or from one file as it is printed; what is neither is said")
    func files() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-lint-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // What is left in /tmp harms nobody.
        func file(_ name: String, _ text: String) throws -> String {
            let place = folder.appending(path: name)
            try Data(text.utf8).write(to: place)
            return place.path
        }
        let options = try SwiftReadingOptions.parse([])
        let swift = try file(
            "A.swift",
            "struct Game: ActivityAttributes { struct ContentState: Codable { var a: Int } }"
        )
        let imported = try await SchemaFiles.read([swift], options)
        #expect(imported.typeName == "Game")
        let printed = try file(
            "a.json",
            JSONValue.object([
                "type": "Game", "attributes_schema": imported.attributes, "content_state_schema": imported.contentState,
            ]).text
        )
        #expect(try await SchemaFiles.read([printed], options) == imported)
        let half = try file("b.json", #"{"attributes_schema": {}}"#)
        let broken = try file("c.json", #"{"attributes_schema": {"type": "x"}, "content_state_schema": {}}"#)
        for (paths, words) in [
            ([half], "no 'content_state_schema'"), ([broken], "'/attributes_schema/type'"),
            ([swift, printed], "one JSON file"),
        ] {
            let error = await #expect(throws: UsageError.self) { try await SchemaFiles.read(paths, options) }
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
    }
}

@Suite("The difference of two versions on the command line")
struct DiffReportTests {
    private func schemas(_ attributes: JSONValue, _ contentState: JSONValue) -> ImportedSchemas {
        ImportedSchemas(typeName: "Game", attributes: attributes, contentState: contentState)
    }

    @Test("Every difference is shown with its place and with whom it breaks")
    func report() {
        let earlier = schemas(true, ["type": "object", "properties": ["a": ["type": "integer"]]])
        let later = schemas(
            true,
            [
                "type": "object", "properties": ["a": ["type": ["integer", "null"]], "b": ["type": "boolean"]],
                "required": ["b"],
            ]
        )
        let report = DiffReport(from: earlier, to: later)
        #expect(report.breaksSomething)
        let items = report.json["differences"]?.array ?? []
        #expect(items.map { $0["code"]?.string } == ["required_added", "type_widened"])
        #expect(items.map { $0["breaks"] } == [["earlier_content"], ["earlier_readers"]])
        #expect(items.map { $0["schema"]?.string } == ["content_state", "content_state"])
        #expect(report.text.contains("  content_state /required: required_added\n"))
        #expect(report.text.contains("    breaks content made for the earlier version"))
        #expect(report.text.contains("    breaks apps with the earlier version"))
    }

    @Test("Versions that are equal, or only say more, break nothing")
    func nothing() {
        let one = schemas(true, ["type": "object", "properties": ["a": ["type": "integer"]]])
        let same = DiffReport(from: one, to: one)
        #expect(!same.breaksSomething)
        #expect(same.text == "Both versions are the same.")
        #expect(same.json == ["differences": []])
        let more = schemas(
            true,
            ["type": "object", "properties": ["a": ["type": "integer"], "b": ["type": "string"]]]
        )
        let wider = DiffReport(from: one, to: more)
        #expect(!wider.breaksSomething)
        #expect(wider.text == "Nothing breaks. Apps with either version read the content of the other.")
    }
}
