import APITypes
import ActivityModel
import Foundation
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Console
@testable import Orchestrator

/// What forms change, and what they leave as it is.
@Suite("Forms of the console", .timeLimit(.minutes(2)))
struct FormTests {
    private static let app = RunningConsole.mine
    private static let mine = BundleID(stored: app)
    private static let match = ActivityID(stored: "match-of-\(app)")
    private static let query = "?app=\(app)&id=\(match)"
    private static let change = "/console/activity/change" + query

    /// Changes the activity as somebody else does.
    private static func set(_ state: JSONObject, _ console: RunningConsole) async throws {
        let request = UpdateRequest(contentState: state)
        _ = try await console.orchestrator.intake.update(mine, match, request, idempotency: nil, origin: nil)
    }

    /// The form of a change that was tried, as its button sends it.
    private static func tried(_ page: Reply) -> [(String, String)] {
        ["request", "tried", "key"].map { ($0, page.hidden($0)) }
    }

    @Test("A time that overflows is refused as one that is too long", arguments: ["241", "999999999999999999"])
    func longDismissal(minutes: String) async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/activity/end" + Self.query
            for sign in ["", "-"] {
                let answer = try await console.post(path, cookie, [("dismiss_minutes", sign + minutes)])
                #expect(answer.status == 422)
                #expect(answer.text.contains("from 0 to 14400"))
            }
        }
    }

    @Test("An untouched field keeps its exact value, also a text with line breaks and an empty one")
    func untouched() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            for (note, sent) in [("one\ntwo", "one\r\ntwo"), ("", "")] {
                try await Self.set(["score": 1, "note": .string(note)], console)
                let form = try await console.send("GET", Self.change, cookie: cookie)
                let hasArea = form.text.contains("<textarea id=\"field.note\"")
                #expect(hasArea == !note.isEmpty)
                let revision = form.hidden("revision")
                let fields = [
                    ("revision", revision), ("field.score", "2"), ("was.score", "1"), ("field.note", sent),
                    ("was.note", sent),
                ]
                let tried = try await console.post(Self.change, cookie, fields)
                #expect(tried.status == 200)
                #expect(tried.text.contains("What changes"))
                #expect(!tried.text.contains("<td><code>note</code></td>"))
                #expect(tried.text.contains("<td><code>score</code></td>"))
                let answer = try await console.post(Self.change, cookie, fields + Self.tried(tried))
                #expect(answer.status == 303)
                let state = try await console.orchestrator.activity(Self.mine, Self.match).contentState
                let expected: JSONObject = ["score": 2, "note": .string(note)]
                #expect(state == expected)
            }
        }
    }

    @Test("A change by somebody else is kept, and the operator is told of it")
    func lostUpdate() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let form = try await console.send("GET", Self.change, cookie: cookie)
            let (note, revision) = (form.hidden("was.note"), form.hidden("revision"))
            #expect(note == RunningConsole.hostile)
            let fields = [
                ("revision", revision), ("field.score", "2"), ("was.score", "1"), ("field.note", note),
                ("was.note", note),
            ]
            try await Self.set(["score": 1, "note": "by another"], console)
            let tried = try await console.post(Self.change, cookie, fields)
            #expect(tried.text.contains("The activity has changed"))
            // Once more after the dry run.
            try await Self.set(["score": 1, "note": "by a third"], console)
            let again = try await console.post(Self.change, cookie, fields + Self.tried(tried))
            #expect(again.status == 200)
            #expect(again.text.contains("Nothing was sent"))
            let sent = try await console.post(Self.change, cookie, fields + Self.tried(again))
            #expect(sent.status == 303)
            let state = try await console.orchestrator.activity(Self.mine, Self.match).contentState
            let expected: JSONObject = ["score": 2, "note": "by a third"]
            #expect(state == expected)
            // The same button twice sends once.
            let revisionNow = try await console.orchestrator.activity(Self.mine, Self.match).revision
            #expect(try await console.post(Self.change, cookie, fields + Self.tried(again)).status == 303)
            #expect(try await console.orchestrator.activity(Self.mine, Self.match).revision == revisionNow)
        }
    }

    @Test("After a dry run there is no field beside the button that sends, and the form comes back as it was")
    func triedForm() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let tried = try await console.post(Self.change, cookie, [("field.score", "7"), ("was.score", "1")])
            #expect(tried.text.contains("Send revision"))
            #expect(!tried.text.contains("id=\"field.score\""))
            let fields = [("field.score", "7"), ("was.score", "1"), ("step", "edit")]
            let form = try await console.post(Self.change, cookie, fields)
            #expect(form.text.contains("id=\"field.score\" name=\"field.score\" value=\"7\""))
        }
    }

    @Test("A text of an alert without a title is refused")
    func alertWithoutTitle() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            for path in [Self.change, "/console/activity/audience" + Self.query] {
                let fields = [("alert_body", "Goal"), ("users", "u1"), ("act", "add")]
                let answer = try await console.post(path, cookie, fields)
                #expect(answer.status == 422, "\(path)")
                #expect(answer.text.contains("&#39;Alert title&#39; is missing"), "\(path)")
            }
        }
    }

    @Test("An audience form that names nobody is refused, and one that names every phone asks first")
    func audience() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/activity/audience" + Self.query
            let nobody = try await console.post(path, cookie, [("act", "remove")])
            #expect(nobody.status == 422)
            #expect(nobody.text.contains("Nobody is named"))
            let every = [("act", "add"), ("all_of_type", "true"), ("alert_title", "Goal")]
            let asked = try await console.post(path, cookie, every)
            #expect(asked.status == 200)
            #expect(asked.text.contains("Add every phone?"))
            #expect(!asked.text.contains("belongs to it"))
            let added = try await console.post(path, cookie, every + [("step", "confirm")])
            #expect(added.status == 303, "\(added.text)")
        }
    }

    @Test("A page that fails keeps the app in its links, and so does the brand")
    func errorKeepsApp() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/type?app=\(RunningConsole.other)&name=Nothing"
            let failed = try await console.send("GET", path, cookie: cookie)
            #expect(failed.status == 404)
            #expect(failed.text.contains("href=\"/console/activities?app=\(RunningConsole.other)\""))
            #expect(failed.text.contains("<a class=\"brand\" href=\"/console?app=\(RunningConsole.other)\">"))
        }
    }

    @Test("A form makes one key, and a refused one keeps its fields")
    func keyForm() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/api-keys"
            let page = try await console.send("GET", path, cookie: cookie)
            let fields = [("name", "once only"), ("scope", "read"), ("once", page.hidden("once"))]
            #expect(try await console.post(path, cookie, fields).text.contains("This is its only appearance"))
            let again = try await console.post(path, cookie, fields)
            #expect(again.text.contains("This form was sent before"))
            let keys = try await console.orchestrator.apiKeys(PageRequest(), only: nil).items
            #expect(keys.filter { $0.name == "once only" }.count == 1)
            let wrong = [("name", "kept name"), ("scope", "operate"), ("expires_at", "soon")]
            let refused = try await console.post(path, cookie, wrong)
            #expect(refused.status == 422)
            #expect(refused.text.contains("value=\"kept name\""))
            #expect(refused.text.contains("value=\"operate\" checked"))
            #expect(refused.text.contains("value=\"soon\""))
        }
    }

    @Test("Revoking the key that one is signed in with asks first")
    func ownKey() async throws {
        try await RunningConsole.run { console in
            let request = APIKeyRequest(name: "own", scopes: [.admin])
            let key = try await console.orchestrator.createAPIKey(request)
            let cookie = try await console.signIn(try #require(key.secret))
            let asked = try await console.post("/console/api-keys", cookie, [("revoke", key.id)])
            #expect(asked.text.contains("Revoke your own key?"))
            #expect(try await console.send("GET", "/console", cookie: cookie).status == 200)
            let fields = [("revoke", key.id), ("step", "confirm")]
            #expect(try await console.post("/console/api-keys", cookie, fields).status == 303)
            #expect(try await console.send("GET", "/console", cookie: cookie).status == 401)
        }
    }

    @Test("Revoking another key asks first, and names it")
    func otherKey() async throws {
        try await RunningConsole.run { console in
            let key = try await console.orchestrator.createAPIKey(APIKeyRequest(name: "backend", scopes: [.publish]))
            func isActive() async throws -> Bool {
                let keys = try await console.orchestrator.apiKeys(PageRequest(), only: nil).items
                return keys.contains { $0.id == key.id && $0.revokedAt == nil }
            }
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let fields = [("revoke", key.id), ("named", "backend")]
            let asked = try await console.post("/console/api-keys", cookie, fields)
            #expect(asked.text.contains("Revoke the key '<bdi>backend</bdi>'?"))
            #expect(try await isActive())
            let answer = try await console.post("/console/api-keys", cookie, fields + [("step", "confirm")])
            #expect(answer.status == 303)
            #expect(!(try await isActive()))
        }
    }

    @Test("Retiring a version asks first, and using it again does not")
    func retirement() async throws {
        try await RunningConsole.run { console in
            let name = ActivityTypeName(stored: "Game")
            let type = """
                {"attributes_schema": {"type": "object", "properties": {"home": {"type": "string"}}}, "content_state_schema":
                {"type": "object", "properties": {"score": {"type": "integer"}, "note": {"type": "string"},
                "referee": {"type": "string"}}, "required": ["score"]}}
                """
            let request = try TypeRequest(json: JSONValue(parsing: type))
            _ = try await console.orchestrator.putType(Self.mine, name, request, force: false)
            func isRetired() async throws -> Bool {
                let versions = try await console.orchestrator.typeVersions(Self.mine, name, PageRequest()).items
                return versions.contains { $0.version == 1 && $0.retiredAt != nil }
            }
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/type?app=\(Self.app)&name=Game"
            let asked = try await console.post(path, cookie, [("version", "1"), ("act", "retire")])
            #expect(asked.text.contains("Retire version 1?"))
            #expect(!(try await isRetired()))
            let fields = [("version", "1"), ("act", "retire"), ("step", "confirm")]
            #expect(try await console.post(path, cookie, fields).status == 303)
            #expect(try await isRetired())
            #expect(try await console.post(path, cookie, [("version", "1"), ("act", "use")]).status == 303)
            #expect(!(try await isRetired()))
        }
    }

    @Test("An activity that has ended offers no form that would change it")
    func ended() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let pages = [Self.change, "/console/activity/end" + Self.query]
            for path in pages {
                let page = try await console.send("GET", path, cookie: cookie)
                #expect(page.text.contains("Try it"), "\(path)")
            }
            let fields = [("request", "{}"), ("key", "the only end")]
            #expect(try await console.post("/console/activity/end" + Self.query, cookie, fields).status == 303)
            for path in pages {
                let page = try await console.send("GET", path, cookie: cookie)
                #expect(page.status == 200, "\(path)")
                #expect(page.text.contains("The activity has ended"), "\(path)")
                #expect(!page.text.contains("Try it"), "\(path)")
            }
            // A form that was open before.
            let late = try await console.post(Self.change, cookie, [("field.score", "7"), ("was.score", "1")])
            #expect(late.text.contains("activity_ended"))
            #expect(!late.text.contains("Try it"))
        }
    }

    @Test("A cancelled schedule leads back to where it was cancelled, with a note")
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
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let list = "/console/schedules?app=\(Self.app)&state=pending"
            let page = try await console.send("GET", list, cookie: cookie)
            let back = page.hidden("back")
            #expect(back == list)
            let schedule = [("id", page.hidden("id")), ("back", back)]
            for (act, question) in [("cancel", "Cancel the update?"), ("run", "Run the update now?")] {
                let asked = try await console.post(list, cookie, schedule + [("act", act)])
                #expect(asked.text.contains(question))
                #expect(asked.hidden("back") == back)
            }
            let waiting = try await console.orchestrator.activity(Self.mine, Self.match).schedules
            #expect(waiting.first?.state == .pending)
            let answer = try await console.post(list, cookie, schedule + [("act", "cancel"), ("step", "confirm")])
            #expect(answer.fields["location"] == list + "&done=cancelled")
            let after = try await console.send("GET", list + "&done=cancelled", cookie: cookie)
            #expect(after.text.contains("The schedule was cancelled."))
        }
    }

    @Test("Resuming a halt redirects, so that a reload does not send it again")
    func resumedHalt() async throws {
        try await RunningConsole.run { console in
            try await EngineTables(console.orchestrator.database).halt(Self.app, answers: 120, rejections: 98)
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let fields = [("app", Self.app), ("environment", "production")]
            let answer = try await console.post("/console/halts?app=\(Self.app)", cookie, fields)
            #expect(answer.status == 303)
            let location = try #require(answer.fields["location"])
            let page = try await console.send("GET", location, cookie: cookie)
            #expect(page.text.contains("Sending to \(Self.app) (production) is resumed."))
        }
    }

    @Test("An id that contains the name of a filter is found", arguments: ["order:user:42", "user:42", "type:x y"])
    func find(id: String) async throws {
        try await RunningConsole.run { console in
            let start = JSONValue.object([
                "type": "Game", "attributes": ["home": "x"], "content_state": ["score": 1],
            ])
            _ = try await console.orchestrator.intake.start(
                Self.mine,
                ActivityID(stored: id),
                StartRequest(json: start),
                origin: nil
            )
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let encoded = RunningConsole.encode(id)
            let find = "/console/find?app=\(Self.app)&q="
            let found = try await console.send("GET", find + encoded, cookie: cookie)
            #expect(found.fields["location"]?.hasPrefix("/console/activity?") == true)
            let list = try await console.send("GET", "/console/activities?app=\(Self.app)&q=" + encoded, cookie: cookie)
            #expect(list.text.contains(">\(id)</a></td>"))
            // A part of an id is searched among the ids.
            let part = try await console.send("GET", find + RunningConsole.encode("x:user:4"), cookie: cookie)
            #expect(part.fields["location"]?.hasPrefix("/console/activities?") == true)
        }
    }

    @Test("Pushes without an answer count apart from refused ones")
    func unanswered() {
        func answers(_ text: String, _ rates: Rates, at second: Int64) -> NowPage.Answers {
            NowPage.Answers(MetricSamples(text), rates, of: nil, at: Instant(unixSeconds: second))
        }
        let before = """
            tally_apns_responses_total{status="200"} 5
            tally_apns_responses_total{status="400",reason="BadDeviceToken"} 2
            tally_apns_responses_total{status="none"} 3
            """
        let rates = Rates()
        let first = answers(before, rates, at: 1_000)
        #expect(first.accepted == 5)
        #expect(first.refused == 2)
        #expect(first.unanswered == 3)
        #expect(!first.areMissing)
        #expect(!answers(before, rates, at: 1_010).areMissing)
        #expect(answers(before.replacing("none\"} 3", with: "none\"} 4"), rates, at: 1_020).areMissing)
        #expect(answers("tally_apns_responses_total{status=\"none\"} 3", Rates(), at: 1_000).areMissing)
    }
}
