import JSON
import SystemSupport

extension Refusal {
    private static let updates = "activities/running/updates"
    private static let update: JSONValue = ["content_state": HonestyWorld.content(minute: 90)]

    /// What the phone's type could not decode.
    static let contents: [Refusal] = [
        .content(
            "a text instead of a number",
            ["homeScore": "1", "awayScore": 0, "minute": 3, "period": "firstHalf"],
            at: "/homeScore"
        ),
        .content(
            "a fraction instead of an integer",
            ["homeScore": 1, "awayScore": 0, "minute": 2.5, "period": "firstHalf"],
            at: "/minute"
        ),
        .content(
            "a number below its minimum",
            ["homeScore": -1, "awayScore": 0, "minute": 3, "period": "firstHalf"],
            at: "/homeScore"
        ),
        .content(
            "a word that is not on the list",
            ["homeScore": 1, "awayScore": 0, "minute": 3, "period": "goldenGoal"],
            at: "/period"
        ),
        .content("nothing for a required field", ["homeScore": 1, "awayScore": 0, "minute": 3], at: ""),
        .content(
            "null for a required field",
            ["homeScore": nil, "awayScore": 0, "minute": 3, "period": "firstHalf"],
            at: "/homeScore"
        ),
        .content(
            "a field that the type does not have",
            ["homeScore": 1, "awayScore": 0, "minute": 3, "period": "firstHalf", "referee": "Marciniak"],
            at: "/referee"
        ),
        .json(
            "an end with content that the schema refuses",
            "POST",
            "activities/running/end",
            ["content_state": ["homeScore": true, "awayScore": 0, "minute": 3, "period": "ended"]],
            422,
            "invalid_content_state",
            at: "/homeScore"
        ),
        .json(
            "a scheduled update with content that the schema refuses",
            "POST",
            updates,
            ["content_state": [:], "at": "2126-01-01T00:00:00Z"],
            422,
            "invalid_content_state",
            at: ""
        ),
    ]

    /// Bodies that are no JSON, and requests that are no requests.
    static let forms: [Refusal] = [
        .bytes("an empty body", [], 400, "invalid_json"),
        .bytes("half an object", Array(#"{"content_state": {"#.utf8), 400, "invalid_json"),
        .bytes("a form", Array("minute=3&homeScore=1".utf8), 400, "invalid_json"),
        .bytes(
            "bytes that are no UTF-8",
            Array(#"{"content_state": ""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8),
            400,
            "invalid_json"
        ),
        .bytes("a key twice", Array(#"{"force": true, "force": true, "content_state": {}}"#.utf8), 400, "invalid_json"),
        .bytes("something behind the end", Array("{} {}".utf8), 400, "invalid_json"),
        .bytes(
            "a depth of 65",
            Array(repeating: UInt8(ascii: "["), count: 65) + Array(repeating: UInt8(ascii: "]"), count: 65),
            400,
            "invalid_json"
        ),
        .bytes(
            "more than 1 MiB",
            Array(#"{"content_state": {"lastEvent": ""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: 1 << 20)
                + Array(#""}}"#.utf8),
            413,
            "body_too_large"
        ),
        Refusal(
            what: "JSON that does not say so",
            method: "POST",
            path: updates,
            body: update.serialized(),
            headers: ["Content-Type": "text/plain"],
            status: 415,
            code: "unsupported_media_type"
        ),
        Refusal(
            what: "JSON that says it is compressed",
            method: "POST",
            path: updates,
            body: update.serialized(),
            headers: ["Content-Type": "application/json", "Content-Encoding": "gzip"],
            status: 415,
            code: "unsupported_content_encoding",
            answerHeader: ("Accept-Encoding", "identity")
        ),
        Refusal(
            what: "a method that the path does not take",
            method: "DELETE",
            path: "activities/running",
            status: 405,
            code: "method_not_allowed",
            answerHeader: ("Allow", "GET, HEAD, PUT")
        ),
        .json("an array instead of an object", "POST", updates, [], 422, "invalid_request", at: ""),
        .json(
            "an unknown field",
            "POST",
            updates,
            ["content_state": [:], "contentState": [:]],
            422,
            "invalid_request",
            at: "/contentState"
        ),
        .json("no content-state", "POST", updates, [:], 422, "invalid_request", at: "/content_state"),
        .json(
            "an alert without a body",
            "POST",
            updates,
            ["content_state": [:], "alert": ["title": "Goal"]],
            422,
            "invalid_request",
            at: "/alert/body"
        ),
        .json(
            "a time that is none",
            "POST",
            updates,
            ["content_state": [:], "at": "tomorrow"],
            422,
            "invalid_request",
            at: "/at"
        ),
        .json(
            "an urgency that is none",
            "POST",
            updates,
            ["content_state": [:], "urgency": "huge"],
            422,
            "invalid_request",
            at: "/urgency"
        ),
        .json(
            "an update token that is not hex",
            by: .phone,
            "PUT",
            "activities/running/subscriptions/listener-1",
            ["update_token": "xyz"],
            422,
            "invalid_request",
            at: "/update_token"
        ),
    ]

    /// Durations that no phone could make sense of.
    static let durations: [Refusal] = [
        .start("a start that is stale before it is shown", "new", 422, "invalid_request", at: "/stale_after_seconds") {
            $0["stale_after_seconds"] = -1
        },
        .json(
            "an update that is stale before it is shown",
            "POST",
            updates,
            ["content_state": HonestyWorld.content(minute: 90), "stale_after_seconds": -1],
            422,
            "invalid_request",
            at: "/stale_after_seconds"
        ),
        .json(
            "a duration that is no whole number",
            "POST",
            updates,
            ["content_state": HonestyWorld.content(minute: 90), "stale_after_seconds": 1.5],
            422,
            "invalid_request",
            at: "/stale_after_seconds"
        ),
        .json(
            "an end that is dismissed before it is sent",
            "POST",
            "activities/running/end",
            ["dismiss_after_seconds": -1],
            422,
            "invalid_request",
            at: "/dismiss_after_seconds"
        ),
        .json(
            "a dismissal later than Apple keeps an ended card",
            "POST",
            "activities/running/end",
            ["dismiss_after_seconds": 14_401],
            422,
            "invalid_request",
            at: "/dismiss_after_seconds"
        ),
        .json(
            "a policy with a negative time",
            "PUT",
            "types/GameAttributes",
            ["policy": ["stale_after_seconds": -1]],
            422,
            "invalid_request",
            at: "/policy/stale_after_seconds"
        ),
    ]

    /// What does not exist, and what is in the wrong state.
    static let states: [Refusal] = [
        .json("an update of an unknown activity", "POST", "activities/nobody-knows/updates", update, 404, "not_found"),
        .json("the end of an unknown activity", "POST", "activities/nobody-knows/end", [:], 404, "not_found"),
        .bare("a look at an unknown activity", "GET", "activities/nobody-knows", 404, "not_found"),
        .json(
            "a subscription to an unknown activity",
            by: .phone,
            "PUT",
            "activities/nobody-knows/subscriptions/listener-1",
            ["update_token": "abcd"],
            404,
            "not_found"
        ),
        .bare("a path that does not exist", "GET", "matches", 404, "not_found"),
        .start("an unregistered type", "new", 422, "unknown_type") { $0["type"] = "OrderAttributes" },
        .start("attributes that the schema refuses", "new", 422, "invalid_attributes", at: "/homeTeam") {
            $0["attributes"] = ["homeTeam": 1, "awayTeam": "PSV", "competition": "Friendly"]
        },
        .start("an id attribute that is not the id", "new", 422, "invalid_attributes", at: "/activityId") {
            $0["attributes"] = ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly", "activityId": "old"]
        },
        .start("content that the schema refuses", "new", 422, "invalid_content_state", at: "/minute") {
            $0["content_state"] = ["homeScore": 0, "awayScore": 0, "minute": "0", "period": "firstHalf"]
        },
        .start("an audience and no alert", "new", 422, "alert_required") {
            $0["alert"] = nil
            $0["audience"] = ["devices": [.string(HonestyWorld.phone)]]
        },
        .start("an end in the past", "new", 422, "invalid_request", at: "/ends_at") {
            $0["ends_at"] = "2022-12-18T18:00:00Z"
        },
        .start("an end before the start", "new", 422, "invalid_request", at: "/ends_at") {
            $0["starts_at"] = "2126-01-01T00:00:00Z"
            $0["ends_at"] = "2125-12-31T23:59:59Z"
        },
        .start("an environment without a key", "new", 422, "invalid_request", at: "/environment") {
            $0["environment"] = "sandbox"
        },
        .start("an id with a line feed", "two%0Alines", 422, "invalid_request") { _ in },
        .start("more than fits into a push", "new", 422, "payload_too_large") {
            $0["content_state"] = [
                "homeScore": 0, "awayScore": 0, "minute": 0, "period": "firstHalf",
                "lastEvent": .string(String(repeating: "x", count: 4_200)),
            ]
        },
        .start("other attributes for a running id", "running", 409, "attributes_conflict") {
            $0["attributes"] = ["homeTeam": "Ajax", "awayTeam": "Feyenoord", "competition": "Friendly"]
            $0["audience"] = ["devices": [.string(HonestyWorld.phone)]]
        },
        .start("another start for a running id", "running", 409, "activity_exists") {
            $0["audience"] = ["devices": [.string(HonestyWorld.phone)]]
            $0["alert"] = ["title": "Another", "body": "Kick-off"]
        },
        .start("another start for an ended id", "ended", 409, "activity_exists") {
            $0["content_state"] = HonestyWorld.content(minute: 7)
        },
        .json("an update after the end", "POST", "activities/ended/updates", update, 409, "activity_ended"),
        .json(
            "a scheduled update after the end",
            "POST",
            "activities/ended/updates",
            ["content_state": HonestyWorld.content(minute: 90), "at": "2126-01-01T00:00:00Z"],
            409,
            "activity_ended"
        ),
        .json(
            "a second end with another state",
            "POST",
            "activities/ended/end",
            ["content_state": HonestyWorld.content(minute: 91)],
            409,
            "activity_ended"
        ),
    ]

    /// Keys that do not fit.
    static let keys: [Refusal] = [
        .json("no key", by: .nobody, "POST", updates, update, 401, "unauthorized"),
        .json("a wrong key", by: .unknown, "POST", updates, update, 401, "unauthorized"),
        .json("a revoked key", by: .revoked, "POST", updates, update, 401, "unauthorized"),
        .bare("no key for a path that does not exist", by: .nobody, "GET", "matches", 401, "unauthorized"),
        .json("a reader who posts", by: .reader, "POST", updates, update, 403, "missing_scope", ["scope": "publish"]),
        .json("a phone that posts", by: .phone, "POST", updates, update, 403, "missing_scope", ["scope": "publish"]),
        .bare("a phone that reads", by: .phone, "GET", "activities/running", 403, "missing_scope", ["scope": "read"]),
        .json(
            "an operator who ends",
            by: .operatorKey,
            "POST",
            "activities/running/end",
            [:],
            403,
            "missing_scope",
            ["scope": "publish"]
        ),
        .json(
            "a publisher who registers a phone",
            by: .publisher,
            "PUT",
            "devices/listener-1",
            ["environment": "production"],
            403,
            "missing_scope",
            ["scope": "register"]
        ),
        .json(
            "a publisher who registers a type",
            by: .publisher,
            "PUT",
            "types/GameAttributes",
            [:],
            403,
            "missing_scope",
            ["scope": "operate"]
        ),
        .json(
            "a publisher who makes a key",
            by: .publisher,
            "POST",
            "/v1/api-keys",
            ["name": "x", "scopes": ["admin"]],
            403,
            "missing_scope",
            ["scope": "admin"]
        ),
        .json("a key of another app", by: .otherApp, "POST", updates, update, 403, "app_forbidden"),
        .json(
            "a key of another app, for an activity that does not exist",
            by: .otherApp,
            "POST",
            "activities/nobody-knows/updates",
            update,
            403,
            "app_forbidden"
        ),
        .bare("a key of another app that looks", by: .otherApp, "GET", "activities/running", 403, "app_forbidden"),
    ]
}
