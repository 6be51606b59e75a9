import APITypes
import ActivityModel
import HTTP1Server
import HTTPTypes
import JSON
import NIOCore

/// Answers the requests of the control API (``ControlServer``).
struct ControlRoutes: Sendable {
    /// A report's body contains every post of a replay.
    private static let maximumReport = 256 << 20
    private static let maximumBody = 16 << 20

    let api: ControlAPI

    /// Answers a request. A refusal has Tally's form.
    ///
    /// - Throws: Only the reason why a body could not be read.
    func answer(_ call: HTTPCall) async throws -> HTTPAnswer {
        do {
            let answer = try await found(call)
            return call.head.method == .head ? answer.withoutBody : answer
        } catch let problem as Problem {
            return Self.json(problem.json, HTTPResponse.Status(code: problem.status), type: Problem.mediaType)
        } catch let error as BodyTooLarge {
            let problem = Problem.bodyTooLarge(limit: error.limit)
            return Self.json(problem.json, HTTPResponse.Status(code: problem.status), type: Problem.mediaType)
        }
    }

    private func found(_ call: HTTPCall) async throws -> HTTPAnswer {
        let method = call.head.method == .head ? .get : call.head.method
        let path = call.path.split(separator: "/").compactMap { PercentEncoding.decode($0) }
        switch (method, path.first ?? "", path.count) {
        case (.get, "health", 1): return Self.json(["status": "ok"])
        case (.get, "summary", 1): return Self.json(api.summary())
        case (.get, "channels", 1): return Self.json(api.channels())
        case (_, "phones", _): return try await phones(method, path, call)
        case (_, "faults", _): return try await faults(method, path, call)
        case (.post, "actions", 1):
            return Self.json(try api.perform(try ActionsRequest(json: await json(call)).actions))
        case (.post, "keys", 1):
            try api.register(try KeyRequest(json: await json(call)))
        case (.delete, "keys", 2):
            if let id = KeyID(path[1]) { api.revoke(id) }
        case (.put, "certificate", 1):
            await api.show(try CertificateRequest(json: await json(call)))
        case (.put, "tally", 1):
            try api.connect(try TallyRequest(json: await json(call)))
        case (.post, "report", 1):
            return Self.json(api.report(try Post.read(lines: try await bytes(call, upTo: Self.maximumReport))).json)
        default:
            throw Problem.notFound("the path")
        }
        return HTTPAnswer(status: .noContent)
    }

    private func phones(_ method: HTTPRequest.Method, _ path: [String], _ call: HTTPCall) async throws -> HTTPAnswer {
        switch (method, path.count) {
        case (.post, 1):
            return Self.json(api.makePhones(try PhonesRequest(json: await json(call))), .created)
        case (.get, 1):
            let query = Self.parameters(call.query)
            return Self.json(
                api.phones(
                    prefix: query["prefix"],
                    activity: query["activity"].flatMap { ActivityID($0) },
                    limit: query["limit"].flatMap { Int($0) } ?? 100,
                    cursor: query["cursor"].flatMap { Int($0) } ?? 0
                )
            )
        case (.get, 2):
            return Self.json(try api.phone(try Self.phone(path[1])))
        case (.post, 3):
            var body = try await json(call, whenEmpty: [:]).object ?? JSONObject()
            body["action"] = .string(path[2])
            body["phone"] = .string(try Self.phone(path[1]).rawValue)
            return Self.json(try api.perform([try PhoneAction(json: .object(body))]))
        default:
            throw Problem.notFound("the path")
        }
    }

    private func faults(_ method: HTTPRequest.Method, _ path: [String], _ call: HTTPCall) async throws -> HTTPAnswer {
        switch (method, path.count) {
        case (.get, 1): return Self.json(api.faults())
        case (.post, 1):
            let body = try FaultRequest(json: await json(call))
            api.set(body)
            return Self.json(body.json, .created)
        case (.delete, 1): api.removeFaults(named: nil)
        case (.delete, 2): api.removeFaults(named: path[1])
        default: throw Problem.notFound("the path")
        }
        return HTTPAnswer(status: .noContent)
    }

    // MARK: Reading and writing

    private func bytes(_ call: HTTPCall, upTo limit: Int = maximumBody) async throws -> [UInt8] {
        Array(buffer: try await call.body(upTo: limit))
    }

    private func json(_ call: HTTPCall, whenEmpty: JSONValue? = nil) async throws -> JSONValue {
        let bytes = try await bytes(call)
        if bytes.isEmpty, let whenEmpty { return whenEmpty }
        do {
            return try JSONValue.parse(bytes)
        } catch {
            throw Problem.invalidJSON(error)
        }
    }

    private static func phone(_ id: String) throws(Problem) -> DeviceID {
        guard let id = DeviceID(id) else { throw .notFound("the phone") }
        return id
    }

    /// The first value of each name.
    private static func parameters(_ query: String?) -> [String: String] {
        let pairs = (query ?? "").split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            return (String(name), PercentEncoding.decode(pair.dropFirst(name.count + 1)) ?? "")
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private static func json(
        _ json: JSONValue,
        _ status: HTTPResponse.Status = .ok,
        type: String = "application/json"
    ) -> HTTPAnswer {
        HTTPAnswer(
            status: status,
            headers: [.contentType: type],
            body: .bytes(ByteBuffer(bytes: json.serialized()))
        )
    }
}
