import JSON
import SystemSupport

extension Refusal {
    /// Types that are none: schemas that no value could be judged by, or only at any cost, and Swift that cannot be
    /// read.
    static let types: [Refusal] = [
        .schema("a schema that is none", ["type": "coin"], at: "/type"),
        .schema("a schema with a slip of the pen", ["properties": ["a": ["maxium": 3]]], at: "/properties/a/maxium"),
        .schema("a schema that refers to itself without a step", ["allOf": [["$ref": "#"]]], at: ""),
        .schema("a reference into the void", ["$ref": "https://example.com/elsewhere"], at: "/$ref"),
        .schema("a length that no text has", ["maxLength": 9_007_199_254_740_992], at: "/maxLength"),
        .schema("a pattern that looks ahead", ["pattern": "(?=a)b"], at: "/pattern"),
        .schema("a pattern that unrolls to millions of steps", ["pattern": "((a{999}){999}){999}"], at: "/pattern"),
        .schema(
            "a pattern longer than a page",
            ["pattern": .string(String(repeating: "a", count: 5_000))],
            at: "/pattern"
        ),
        .schema(
            "a schema of more than 256 KB",
            ["description": .string(String(repeating: "x", count: 262_144))],
            at: ""
        ),
        Refusal(
            what: "a schema that is nested deeper than JSON may be",
            method: "PUT",
            path: "types/New",
            body: Array(
                (#"{"attributes_schema":{},"content_state_schema":"# + String(repeating: #"{"not":"#, count: 70) + "{}"
                    + String(repeating: "}", count: 71)).utf8
            ),
            status: 400,
            code: "invalid_json"
        ),
        .swift("a Swift source that is none", "struct {", at: "/swift_source"),
        .swift("a Swift source without the struct", "struct Other {}", at: "/swift_source"),
        .swift(
            "a Swift source that is too deep to be read",
            "struct New: ActivityAttributes { var a: " + String(repeating: "[", count: 20_000),
            at: "/swift_source"
        ),
        .swift(
            "a Swift source of more than 256 KB",
            String(repeating: "// comment\n", count: 24_000),
            at: "/swift_source"
        ),
        .swift(
            "a supplied schema that is none",
            "struct New: ActivityAttributes { struct ContentState: Codable { var a: Money } }",
            supplied: ["Money": ["minLength": -1]],
            at: "/supplied_schemas/Money/minLength"
        ),
        .json(
            "both schemas and Swift",
            "PUT",
            "types/New",
            ["swift_source": "struct New {}", "content_state_schema": [:]],
            422,
            "invalid_request",
            at: "/content_state_schema"
        ),
    ]

    private static func schema(_ what: String, _ schema: JSONValue, at pointer: String) -> Refusal {
        .json(
            what,
            "PUT",
            "types/New",
            ["attributes_schema": [:], "content_state_schema": schema],
            422,
            "invalid_request",
            at: "/content_state_schema" + pointer
        )
    }

    private static func swift(
        _ what: String,
        _ source: String,
        supplied: JSONObject = [:],
        at pointer: String
    ) -> Refusal {
        var body: JSONObject = ["swift_source": .string(source)]
        if !supplied.isEmpty { body["supplied_schemas"] = .object(supplied) }
        return .json(what, "PUT", "types/New", .object(body), 422, "invalid_request", at: pointer)
    }
}
