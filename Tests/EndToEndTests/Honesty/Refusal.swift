import JSON
import SystemSupport
import Testing

/// A request that Tally has to refuse, and how.
struct Refusal: Sendable, CustomTestStringConvertible {
    let what: String
    var caller = HonestyWorld.Caller.admin
    let method: String
    /// Without `/v1/apps/…` where it does not begin with a slash.
    let path: String
    var body: [UInt8]?
    var headers: [String: String] = [:]
    let status: Int
    let code: String
    /// The JSON pointer of one of the errors.
    var pointer: String?
    /// Members of the problem.
    var members: JSONObject = [:]
    /// A header of the answer and what it holds.
    var answerHeader: (name: String, value: String)?

    var testDescription: String { what }

    var fullPath: String { path.hasPrefix("/") ? path : "\(HonestyWorld.path)/\(path)" }
}

extension Refusal {
    /// With JSON as body.
    static func json(
        _ what: String,
        by caller: HonestyWorld.Caller = .admin,
        _ method: String,
        _ path: String,
        _ body: JSONValue,
        _ status: Int,
        _ code: String,
        at pointer: String? = nil,
        _ members: JSONObject = [:]
    ) -> Refusal {
        Refusal(
            what: what,
            caller: caller,
            method: method,
            path: path,
            body: body.serialized(),
            status: status,
            code: code,
            pointer: pointer,
            members: members
        )
    }

    /// Without a body.
    static func bare(
        _ what: String,
        by caller: HonestyWorld.Caller = .admin,
        _ method: String,
        _ path: String,
        _ status: Int,
        _ code: String,
        _ members: JSONObject = [:]
    ) -> Refusal {
        Refusal(what: what, caller: caller, method: method, path: path, status: status, code: code, members: members)
    }

    /// With bytes that are not to be JSON.
    static func bytes(_ what: String, _ bytes: [UInt8], _ status: Int, _ code: String) -> Refusal {
        Refusal(what: what, method: "POST", path: "activities/running/updates", body: bytes, status: status, code: code)
    }

    /// A changed start.
    static func start(
        _ what: String,
        _ id: String,
        _ status: Int,
        _ code: String,
        at pointer: String? = nil,
        _ change: (inout JSONObject) -> Void
    ) -> Refusal {
        var body = HonestyWorld.start().object ?? JSONObject()
        change(&body)
        return .json(what, "PUT", "activities/\(id)", .object(body), status, code, at: pointer)
    }

    /// An update of the running activity with this content-state.
    static func content(_ what: String, _ content: JSONValue, at pointer: String) -> Refusal {
        .json(
            what,
            "POST",
            "activities/running/updates",
            ["content_state": content],
            422,
            "invalid_content_state",
            at: pointer
        )
    }
}
