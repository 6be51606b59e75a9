import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Console
@testable import Orchestrator

/// What pages say, beyond that they come.
@Suite("Pages of the console", .timeLimit(.minutes(2)))
struct PageTests {
    private static let mine = BundleID(stored: RunningConsole.mine)
    private static let match = ActivityID(stored: "match-of-\(RunningConsole.mine)")
    private static let bearer = ["Authorization": "Bearer \(RunningConsole.bootstrap)"]
    private static let room = "/console/activity?app=\(RunningConsole.mine)&id=\(match)"

    /// A page without the words for how long ago things were: the machine may be slow.
    private func timeless(_ page: String) -> String { page.replacing(#/>[^<]*<\/time>/#, with: "></time>") }

    @Test("A renewal shows what has changed since, without the frame, and gives each reader forms of their own")
    func renewals() async throws {
        try await RunningConsole.run { console in
            let schedule = UpdateRequest(contentState: ["score": 3], at: Instant(unixSeconds: 4_000_000_000))
            _ = try await console.orchestrator.intake.update(
                Self.mine,
                Self.match,
                schedule,
                idempotency: nil,
                origin: nil
            )
            let first = try await console.signIn(RunningConsole.bootstrap)
            let second = try await console.signIn(RunningConsole.bootstrap)
            let renewed = try await console.send("GET", Self.room + "&after=1-1", cookie: first)
            #expect(renewed.status == 200)
            #expect(!renewed.text.contains("<nav"))
            #expect(renewed.text.contains("data-part"))
            let whole = try await console.send("GET", Self.room, cookie: first)
            #expect(renewed.token == whole.token)
            #expect(!renewed.text.contains("\0"))
            // The same rendering, with the token of the other session.
            let shared = try await console.send("GET", Self.room + "&after=1-1", cookie: second)
            let token = try await console.send("GET", Self.room, cookie: second).token
            #expect(token != whole.token)
            #expect(timeless(shared.text) == timeless(renewed.text).replacing(whole.token, with: token))

            _ = try await console.orchestrator.intake.update(
                Self.mine,
                Self.match,
                UpdateRequest(contentState: ["score": 987_654]),
                idempotency: nil,
                origin: nil
            )
            let kept = try await console.send("GET", Self.room + "&after=1-1", cookie: second)
            #expect(!kept.text.contains("987654"))
            let next = try await console.send("GET", Self.room + "&after=1-2", cookie: second)
            #expect(next.text.contains("987654"))
        }
    }

    @Test("A renewal is shared by those alone who may see the same")
    func renewalsOfOthers() async throws {
        try await RunningConsole.run { console in
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let reader = try await console.signIn(try #require(console.bound[.read]))
            let shown = try await console.send("GET", Self.room + "&after=1-1", cookie: admin)
            #expect(shown.text.contains("Post a change"))
            let seen = try await console.send("GET", Self.room + "&after=1-1", cookie: reader)
            #expect(seen.status == 200)
            #expect(!seen.text.contains("Post a change"))
            // It sees every app, and may only look.
            let key = try await console.orchestrator.createAPIKey(APIKeyRequest(name: "looks", scopes: [.read]))
            let looker = try await console.signIn(try #require(key.secret))
            let looked = try await console.send("GET", Self.room + "&after=1-1", cookie: looker)
            #expect(looked.status == 200)
            #expect(!looked.text.contains("Post a change"))
            let other = "/console/activity?app=\(RunningConsole.other)&id=match-of-\(RunningConsole.other)&after=1-1"
            #expect(try await console.send("GET", other, cookie: admin).status == 200)
            #expect(try await console.send("GET", other, cookie: reader).status == 403)
            // It has the same scopes, and sees one app.
            let bound = try await console.signIn(try #require(console.bound[.admin]))
            #expect(try await console.send("GET", other, cookie: bound).status == 403)
            #expect(try await console.send("GET", Self.room + "&after=1-1", cookie: nil).status == 401)
        }
    }

    @Test("A phone that was deleted is told of with who did it, to those who may read the log")
    func deletedPhone() async throws {
        try await RunningConsole.run { console in
            let device = DeviceID(stored: "lost-phone")
            let path = "/console/phone?app=\(RunningConsole.mine)&id=lost-phone"
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let never = try await console.send("GET", path, cookie: admin)
            #expect(never.status == 404)
            #expect(never.text.contains("does not name it"))
            _ = try await console.orchestrator.intake.putDevice(
                Self.mine,
                device,
                DeviceRequest(environment: .production)
            )
            #expect(try await console.send("GET", path, cookie: admin).status == 200)
            let deletion = "/v1/apps/\(RunningConsole.mine)/devices/lost-phone"
            #expect(try await console.send("DELETE", deletion, headers: Self.bearer).status == 204)
            let gone = try await console.send("GET", path, cookie: admin)
            #expect(gone.status == 404)
            #expect(gone.text.contains("It was deleted"))
            let reader = try await console.signIn(try #require(console.bound[.read]))
            let hidden = try await console.send("GET", path, cookie: reader)
            #expect(hidden.status == 404)
            #expect(!hidden.text.contains("It was deleted"))
        }
    }

    @Test("An app that was deleted is told of with what it was")
    func deletedApp() async throws {
        try await RunningConsole.run { console in
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let app = BundleID(stored: "com.example.closed")
            try await RunningConsole.makeApp(app, console.orchestrator)
            #expect(try await console.send("GET", "/console?app=\(app)", cookie: admin).status == 200)
            let deletion = "/v1/apps/\(app)?confirm=\(app)"
            #expect(try await console.send("DELETE", deletion, headers: Self.bearer).status == 204)
            let gone = try await console.send("GET", "/console/activities?app=\(app)", cookie: admin)
            #expect(gone.status == 404)
            #expect(gone.text.contains("It was deleted"))
            #expect(gone.text.contains("ABCDE12345"))
        }
    }

    /// The page of something, while it is there and when it is gone: what it was, and who ended it.
    private static func expectMemory(
        of path: String,
        _ verb: String,
        by deletion: String,
        naming detail: String,
        _ console: RunningConsole
    ) async throws {
        let admin = try await console.signIn(RunningConsole.bootstrap)
        let shown = try await console.send("GET", path, cookie: admin)
        #expect(shown.status == 200, "\(path)")
        #expect(!shown.text.contains("It was \(verb)"), "\(path)")
        _ = try await console.send("DELETE", deletion, headers: bearer)
        // Tally forgets it with its activity, or at once.
        _ = try await console.orchestrator.database.execute("DELETE FROM channels")
        _ = try await console.orchestrator.database.execute("DELETE FROM schedules")
        let gone = try await console.send("GET", path, cookie: admin)
        #expect(gone.status == 404, "\(path)")
        #expect(gone.text.contains("It was \(verb)"), "\(path)")
        #expect(gone.text.contains("bootstrap"), "\(path)")
        #expect(gone.text.contains(detail), "\(path)")
        let reader = try await console.signIn(try #require(console.bound[.read]))
        #expect(!(try await console.send("GET", path, cookie: reader)).text.contains("It was \(verb)"), "\(path)")
    }

    @Test("A channel that was deleted is told of with what it was")
    func deletedChannel() async throws {
        try await RunningConsole.run { console in
            let id = "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
            _ = try await console.orchestrator.database.execute(
                """
                INSERT INTO channels (channel_id, bundle_id, environment, storage, state, apns_channel_id, ready_at)
                VALUES (\(id)::uuid, \(RunningConsole.mine), 'production', 'most_recent', 'ready', 'at-apple', now())
                """
            )
            try await Self.expectMemory(
                of: "/console/channel?app=\(RunningConsole.mine)&id=\(id)",
                "deleted",
                by: "/v1/apps/\(RunningConsole.mine)/channels/\(id)",
                naming: "at-apple",
                console
            )
        }
    }

    @Test("A schedule that was cancelled is told of with what it was")
    func cancelledSchedule() async throws {
        try await RunningConsole.run { console in
            let update = UpdateRequest(contentState: ["score": 3], at: Instant(unixSeconds: 4_000_000_000))
            _ = try await console.orchestrator.intake.update(
                Self.mine,
                Self.match,
                update,
                idempotency: nil,
                origin: nil
            )
            let page = try await console.orchestrator.schedules(Self.mine, state: nil, PageRequest())
            let id = try #require(page.items.first).id
            try await Self.expectMemory(
                of: "/console/schedule?app=\(RunningConsole.mine)&id=\(id)",
                "cancelled",
                by: "/v1/apps/\(RunningConsole.mine)/schedules/\(id)",
                naming: "due_at",
                console
            )
        }
    }

    @Test("A halt is shown with its reason, and told of when it was resumed")
    func resumedHalt() async throws {
        try await RunningConsole.run { console in
            try await EngineTables(console.orchestrator.database)
                .halt(RunningConsole.mine, answers: 120, rejections: 98)
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let halts = try await console.send("GET", "/console/halts?app=\(RunningConsole.mine)", cookie: admin)
            #expect(halts.text.contains("rejected 98 of 120 tokens"))
            try await Self.expectMemory(
                of: "/console/halt?app=\(RunningConsole.mine)&environment=production",
                "resumed",
                by: "/v1/apps/\(RunningConsole.mine)/halts/production",
                naming: "suspect_from",
                console
            )
        }
    }

    @Test("The pages of an activity, of its change and of a phone lead to the halt that keeps pushes back")
    func haltOfActivity() async throws {
        try await RunningConsole.run { console in
            try await EngineTables(console.orchestrator.database)
                .halt(RunningConsole.mine, answers: 120, rejections: 98)
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let halt = "/console/halt?app=\(RunningConsole.mine)&amp;environment=production"
            let room = try await console.send("GET", Self.room, cookie: admin)
            #expect(room.text.contains("<a href=\"\(halt)\">"))
            let other = "/console/activity?app=\(RunningConsole.other)&id=match-of-\(RunningConsole.other)"
            #expect(!(try await console.send("GET", other, cookie: admin).text.contains("/console/halt?")))
            let device = DeviceID(stored: "waits")
            let report = DeviceRequest(environment: .production)
            _ = try await console.orchestrator.intake.putDevice(Self.mine, device, report)
            let phone = "/console/phone?app=\(RunningConsole.mine)&id=waits"
            #expect(try await console.send("GET", phone, cookie: admin).text.contains("<a href=\"\(halt)\">"))
            let change = "/console/activity/change?app=\(RunningConsole.mine)&id=\(Self.match)"
            let tried = try await console.post(change, admin, [("field.score", "7"), ("was.score", "1")])
            // It is said once.
            #expect(tried.text.matches(of: #/Sending is halted/#).count == 1)
            #expect(tried.text.contains("only test pushes leave until it is resumed"))
            #expect(tried.text.contains("<a href=\"\(halt)\">"))
            let end = "/console/activity/end?app=\(RunningConsole.mine)&id=\(Self.match)"
            let ending = try await console.post(end, admin, [("dismiss_minutes", "")])
            #expect(ending.text.contains("<a href=\"\(halt)\">"))
            // The doctor's advice is for a terminal.
            let doctor = try await console.send("GET", "/console/doctor", cookie: admin)
            #expect(doctor.text.contains("<a href=\"/console/halts?app=\(RunningConsole.mine)\">To the halt</a>"))
        }
    }

    @Test("A character that turns the direction of its line is escaped in JSON")
    func turnedLine() async throws {
        try await RunningConsole.run { console in
            let change = UpdateRequest(contentState: ["score": 3, "note": "a\u{202E}b"])
            _ = try await console.orchestrator.intake.update(
                Self.mine,
                Self.match,
                change,
                idempotency: nil,
                origin: nil
            )
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let room = try await console.send("GET", Self.room, cookie: admin)
            #expect(room.text.contains("&quot;a\\u202eb&quot;"))
            let path = "/console/activity/change?app=\(RunningConsole.mine)&id=\(Self.match)"
            let fields = [("field.note", "c\u{202E}d"), ("was.note", "a\u{202E}b")]
            let tried = try await console.post(path, admin, fields)
            #expect(tried.text.contains("<code>&quot;a\\u202eb&quot;</code>"))
            #expect(tried.text.contains("<code>&quot;c\\u202ed&quot;</code>"))
            // What is sent stays as it is.
            #expect(tried.hidden("request").contains("c\u{202E}d"))
        }
    }

    @Test("An API key has the state that the command line names")
    func keyState() async throws {
        try await RunningConsole.run { console in
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let page = try await console.send("GET", "/console/api-keys", cookie: admin)
            #expect(page.text.contains(">active</span>"))
        }
    }

    @Test("The audit log links each subject to its page")
    func auditLinks() async throws {
        try await RunningConsole.run { console in
            let admin = try await console.signIn(RunningConsole.bootstrap)
            let app = BundleID(stored: "com.example.closed")
            try await RunningConsole.makeApp(app, console.orchestrator)
            _ = try await console.send("DELETE", "/v1/apps/\(app)?confirm=\(app)", headers: Self.bearer)
            let audit = try await console.send("GET", "/console/audit", cookie: admin)
            #expect(audit.text.contains("<a href=\"/console?app=com.example.closed\">"))
        }
    }

    @Test("Rates are those since the oldest look within a minute")
    func rates() {
        let rates = Rates()
        func at(_ second: Int64, _ count: Double, of app: String? = nil) -> Rates.Rate? {
            rates.note(["pushes": count], of: app, at: Instant(unixSeconds: 1_000 + second))["pushes"]
        }
        #expect(at(0, 100) == nil)
        #expect(at(10, 150)?.perSecond == 5)
        #expect(at(10, 150)?.seconds == 10)
        #expect(at(50, 150)?.perSecond == 1)
        // The look of the beginning is too long ago.
        #expect(at(61, 150)?.perSecond == 0)
        #expect(at(61, 150, of: "com.example.mine") == nil)
        // The daemon counts from the beginning.
        #expect(at(62, 0)?.perSecond == 0)
    }
}
