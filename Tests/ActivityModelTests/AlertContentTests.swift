import APITypes
import ActivityModel
import JSON
import Testing

@Suite("Alerts")
struct AlertContentTests {
    @Test("The API's shape is read and written back, and Apple's shape differs in the keys")
    func shapes() throws {
        let json: JSONValue = [
            "title": ["loc_key": "GOAL_TITLE", "loc_args": ["Messi", "2"]], "body": "Goal!", "sound": "default",
        ]
        let alert = try AlertContent(json: json)
        #expect(alert.title == .localized(key: "GOAL_TITLE", arguments: ["Messi", "2"]))
        #expect(alert.json == json)
        #expect(
            alert.wire.text
                == #"{"title":{"loc-key":"GOAL_TITLE","loc-args":["Messi","2"]},"body":"Goal!","sound":"default"}"#
        )
    }

    @Test("Arguments and sound may be left out")
    func optionalParts() throws {
        let alert = try AlertContent(json: ["title": ["loc_key": "K"], "body": "b", "sound": nil])
        #expect(alert.wire.text == #"{"title":{"loc-key":"K"},"body":"b"}"#)
    }

    @Test(
        "What is wrong is named by its place",
        arguments: [
            (["body": "b"], "/title", "missing"), (["title": 1, "body": "b"], "/title", "wrong_type"),
            ("x", "", "wrong_type"),
            (["title": "t", "body": "b", "sound": ""], "/sound", "wrong_type"),
            (["title": "t", "body": "b", "subtitle": "s"], "/subtitle", "unknown_field"),
            (["title": ["loc-key": "K"], "body": "b"], "/title/loc_key", "missing"),
            (["title": "t", "body": ["loc_key": "K", "loc_args": [1]]], "/body/loc_args", "wrong_type"),
            (["title": "t", "body": ["loc_key": "K", "x": 1]], "/body/x", "unknown_field"),
            (["title": "t", "body": ["loc_key": ""]], "/body/loc_key", "wrong_type"),
        ] as [(JSONValue, String, String)]
    )
    func refused(json: JSONValue, pointer: String, code: String) throws {
        let problem = try #require(throws: Problem.self) { try AlertContent(json: json) }
        #expect(problem.errors.first?.pointer.description == pointer)
        #expect(problem.errors.first?.code == code)
    }

    @Test("Everything wrong is reported at once, counted from where the alert stands")
    func allIssues() throws {
        let problem = try #require(throws: Problem.self) {
            try AudienceRequest(json: ["add": [:], "alert": ["title": ["x": 1], "y": 2]])
        }
        #expect(
            problem.errors.map(\.pointer.description) == [
                "/alert/title/loc_key", "/alert/title/x", "/alert/body", "/alert/y",
            ]
        )
    }
}
