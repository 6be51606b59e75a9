import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Testing

@testable import Console
@testable import Orchestrator

/// Ids that differ in their blanks alone: the API takes them, so a page is of the one that its address names.
@Suite("Exact ids in the console", .timeLimit(.minutes(2)))
struct ExactIDTests {
    private static let app = RunningConsole.mine
    private static let mine = BundleID(stored: app)

    private static func start(_ id: String, _ console: RunningConsole) async throws {
        let start: JSONValue = ["type": "Game", "attributes": ["home": "x"], "content_state": ["score": 1]]
        let request = try StartRequest(json: start)
        _ = try await console.orchestrator.intake.start(mine, ActivityID(stored: id), request, origin: nil)
    }

    @Test("The end of an activity ends the one that was named, and no twin without the blank")
    func twins() async throws {
        try await RunningConsole.run { console in
            for id in ["lead", " lead"] { try await Self.start(id, console) }
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let list = try await console.send("GET", "/console/activities?app=\(Self.app)", cookie: cookie)
            let query = "?app=\(Self.app)&id=%20lead"
            #expect(list.text.contains("/console/activity?app=\(Self.app)&amp;id=%20lead"))
            let path = "/console/activity/end" + query
            let tried = try await console.post(path, cookie, [("dismiss_minutes", "")])
            let fields = ["request", "key"].map { ($0, tried.hidden($0)) }
            let answer = try await console.post(path, cookie, fields)
            #expect(answer.status == 303)
            #expect(answer.fields["location"]?.contains("id=%20lead") == true)
            let (lead, twin) = (ActivityID(stored: "lead"), ActivityID(stored: " lead"))
            #expect(try await console.orchestrator.activity(Self.mine, lead).state == .live)
            #expect(try await console.orchestrator.activity(Self.mine, twin).state == .ended)
        }
    }

    @Test("The pages of an id with a blank at its end are there", arguments: ["trail ", " ", " both "])
    func pages(id: String) async throws {
        try await RunningConsole.run { console in
            try await Self.start(id, console)
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let query = "?app=\(Self.app)&id=" + RunningConsole.encode(id)
            for page in ["", "/change", "/audience", "/end"] {
                let path = "/console/activity" + page + query
                #expect(try await console.send("GET", path, cookie: cookie).status == 200, "\(path)")
            }
        }
    }

    @Test("A phone with a blank in its id is found, and so is one whose id was pasted with a blank")
    func phones() async throws {
        try await RunningConsole.run { console in
            for id in [" d ", "e"] {
                _ = try await console.orchestrator.intake.putDevice(
                    Self.mine,
                    DeviceID(stored: id),
                    DeviceRequest(environment: .production)
                )
            }
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let phone = "/console/phone?app=\(Self.app)&id=%20d%20"
            #expect(try await console.send("GET", phone, cookie: cookie).status == 200)
            for (search, id) in [("%20d%20", "%20d%20"), ("e%20", "e")] {
                let path = "/console/phones?app=\(Self.app)&q=" + search
                let found = try await console.send("GET", path, cookie: cookie)
                #expect(found.text.contains("/console/phone?app=\(Self.app)&amp;id=\(id)\""), "\(search)")
            }
        }
    }

    @Test(
        "What was pasted with a blank or a tab is no error",
        arguments: ["user:ada%09", "token:8f3a%20", "token:8f3a%09"]
    )
    func pastedPhones(search: String) async throws {
        try await RunningConsole.run { console in
            _ = try await console.orchestrator.intake.putDevice(
                Self.mine,
                DeviceID(stored: "hers"),
                DeviceRequest(environment: .production, user: .user(UserID(stored: "ada")))
            )
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let found = try await console.send("GET", "/console/phones?app=\(Self.app)&q=" + search, cookie: cookie)
            #expect(found.status == 200)
            let isFound = found.text.contains("/console/phone?app=\(Self.app)&amp;id=hers\"")
            #expect(isFound == search.hasPrefix("user:"))
        }
    }

    @Test("An event filter that was pasted with a tab is no error")
    func pastedEvents() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/events?app=\(Self.app)&activity=match%09"
            #expect(try await console.send("GET", path, cookie: cookie).status == 200)
        }
    }

    @Test("A search finds the id as it was typed before the one without its blank")
    func search() async throws {
        try await RunningConsole.run { console in
            for id in ["lead", " lead", "x a  b y", "x a b y"] { try await Self.start(id, console) }
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            for (typed, id) in [("%20lead", "%20lead"), ("lead", "lead"), ("lead%20", "lead")] {
                let path = "/console/find?app=\(Self.app)&q=" + typed
                let found = try await console.send("GET", path, cookie: cookie)
                #expect(found.fields["location"] == "/console/activity?app=\(Self.app)&id=\(id)", "\(typed)")
            }
            let part = "/console/activities?app=\(Self.app)&q=a%20%20b"
            let list = try await console.send("GET", part, cookie: cookie)
            #expect(list.text.contains(">x a  b y</a>"))
            #expect(!list.text.contains(">x a b y</a>"))
        }
    }

    @Test("A filter that is not known is told of", arguments: ["foo:bar", "TYPE:Game", "type: Game"])
    func unknownFilter(text: String) async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let path = "/console/activities?app=\(Self.app)&q=" + RunningConsole.encode(text)
            let list = try await console.send("GET", path, cookie: cookie)
            #expect(list.text.contains("was looked for in the ids"))
            let known = "/console/activities?app=\(Self.app)&q=type%3AGame"
            #expect(!(try await console.send("GET", known, cookie: cookie).text.contains("was looked for")))
        }
    }
}
