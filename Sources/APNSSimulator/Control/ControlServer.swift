import APITypes
import ActivityModel
import Glibc
import HTTP1Server
import HTTPTypes
import Hummingbird
import HummingbirdCore
import JSON
package import Logging
import NIOCore
import ServiceLifecycle

/// The control API over plain HTTP on loopback, for tests, scripts and the `apns-sim` program. It reads and writes
/// JSON.
///
/// | route | does |
/// |---|---|
/// | `GET /health` | 200 once it listens |
/// | `POST /phones` | creates phones: ``PhonesRequest`` |
/// | `GET /phones`, `GET /phones/{id}` | what phones show; for one phone, its whole history |
/// | `POST /phones/{id}/{action}` | one ``PhoneAction`` at one phone |
/// | `POST /actions` | `{actions: [PhoneAction]}` at many phones |
/// | `GET /summary` | counts |
/// | `GET/POST/DELETE /faults`, `DELETE /faults/{name}` | ``FaultRequest`` |
/// | `GET /channels` | every channel |
/// | `POST /keys`, `DELETE /keys/{key_id}` | ``KeyRequest`` |
/// | `PUT /certificate` | ``CertificateRequest``: an expired one, or the valid one again; closes all connections |
/// | `PUT /tally` | ``TallyRequest``: the Tally that apps report to |
/// | `POST /report` | JSON Lines of ``Post`` → ``ReplayReport`` |
///
/// Errors have Tally's form: problem details with pointers.
package struct ControlServer: Service, CustomStringConvertible {
    /// A report's body contains every post of a replay.
    private static let maximumBody = 256 * 1024 * 1024

    private let api: ControlAPI
    private let host: String
    private let port: Int
    private let onListening: @Sendable (String) async -> Void
    private let logger: Logger

    /// Port 0 selects a free one. `onListening` is called once with the address, such as `http://127.0.0.1:8081`.
    package init(
        api: ControlAPI,
        host: String = "127.0.0.1",
        port: Int,
        onListening: @escaping @Sendable (String) async -> Void,
        logger: Logger
    ) {
        self.api = api
        self.host = host
        self.port = port
        self.onListening = onListening
        self.logger = logger
    }

    package var description: String { "apns-sim-control" }

    /// Serves until shutdown.
    ///
    /// - Throws: ``SimulatorError/Code/notListening`` if the port cannot be bound.
    package func run() async throws {
        let application = Application(
            router: router(),
            server: HTTPServerBuilder { HTTP1Connection(responder: $0) },
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in
                await onListening("http://\(host):\(channel.localAddress?.port ?? port)")
            },
            logger: logger
        )
        do {
            try await application.run()
        } catch let error as IOError {
            // No other thread overwrites this text: since 2.32, glibc keeps it per thread.
            let words = String(cString: strerror(error.errnoCode))
            let detail = "cannot listen for the control API on http://\(host):\(port): \(words)"
            throw SimulatorError(.notListening, detail + "; --control-port chooses another port", cause: error)
        }
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        let api = api
        router.on("health", method: .get) { _, _ in answer(["status": "ok"]) }
        router.on("phones", method: .post) { request, _ in
            try await answering {
                let body = try await PhonesRequest(json: request.json())
                return answer(api.makePhones(body), .created)
            }
        }
        router.on("phones", method: .get) { request, _ in
            let query = request.uri.queryParameters
            return answer(
                api.phones(
                    prefix: query["prefix"].map(String.init),
                    activity: query["activity"].flatMap { ActivityID(String($0)) },
                    limit: query["limit"].flatMap { Int($0) } ?? 100,
                    cursor: query["cursor"].flatMap { Int($0) } ?? 0
                )
            )
        }
        router.on("phones/:id", method: .get) { _, context in
            try await answering { answer(try api.phone(try context.device("id"))) }
        }
        router.on("phones/:id/:action", method: .post) { request, context in
            try await answering {
                var body = try await request.json(whenEmpty: [:]).object ?? JSONObject()
                body["action"] = context.parameters.get("action").map { .string($0) }
                body["phone"] = .string(try context.device("id").rawValue)
                return answer(try api.perform([try PhoneAction(json: .object(body))]))
            }
        }
        router.on("actions", method: .post) { request, _ in
            try await answering { answer(try api.perform(try await ActionsRequest(json: request.json()).actions)) }
        }
        router.on("summary", method: .get) { _, _ in answer(api.summary()) }
        router.on("channels", method: .get) { _, _ in answer(api.channels()) }
        router.on("faults", method: .get) { _, _ in answer(api.faults()) }
        router.on("faults", method: .post) { request, _ in
            try await answering {
                let body = try await FaultRequest(json: request.json())
                api.set(body)
                return answer(body.json, .created)
            }
        }
        router.on("faults", method: .delete) { _, _ in
            api.removeFaults(named: nil)
            return Response(status: .noContent)
        }
        router.on("faults/:name", method: .delete) { _, context in
            api.removeFaults(named: context.parameters.get("name"))
            return Response(status: .noContent)
        }
        router.on("keys", method: .post) { request, _ in
            try await answering {
                try api.register(try await KeyRequest(json: request.json()))
                return Response(status: .noContent)
            }
        }
        router.on("keys/:id", method: .delete) { _, context in
            if let id = context.parameters.get("id").flatMap({ KeyID($0) }) {
                api.revoke(id)
            }
            return Response(status: .noContent)
        }
        router.on("certificate", method: .put) { request, _ in
            try await answering {
                await api.show(try await CertificateRequest(json: request.json()))
                return Response(status: .noContent)
            }
        }
        router.on("tally", method: .put) { request, _ in
            try await answering {
                try api.connect(try await TallyRequest(json: request.json()))
                return Response(status: .noContent)
            }
        }
        router.on("report", method: .post) { request, _ in
            try await answering {
                let posts = try Post.read(lines: try await request.bytes(upTo: Self.maximumBody))
                return answer(api.report(posts).json)
            }
        }
        return router
    }
}

/// `POST /actions`: actions to carry out in order.
struct ActionsRequest: APIRequest, APIObject {
    var actions: [PhoneAction]

    static let fields = FieldTable(Self.init) {
        required("actions", .list(of: .object(PhoneAction.self)), \.actions)
    }
}

/// Answers a thrown `Problem`.
private func answering(_ body: () async throws -> Response) async throws -> Response {
    do {
        return try await body()
    } catch let problem as Problem {
        return answer(problem.json, HTTPResponse.Status(code: problem.status), type: Problem.mediaType)
    }
}

private func answer(
    _ json: JSONValue,
    _ status: HTTPResponse.Status = .ok,
    type: String = "application/json"
) -> Response {
    Response(
        status: status,
        headers: [.contentType: type],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.serialized()))
    )
}

extension Request {
    fileprivate func bytes(upTo limit: Int) async throws -> [UInt8] {
        Array(buffer: try await body.collect(upTo: limit))
    }

    fileprivate func json(whenEmpty: JSONValue? = nil) async throws -> JSONValue {
        let bytes = try await bytes(upTo: 16 * 1024 * 1024)
        if bytes.isEmpty, let whenEmpty { return whenEmpty }
        do {
            return try JSONValue.parse(bytes)
        } catch {
            throw Problem.invalidJSON(error)
        }
    }
}

extension RequestContext {
    fileprivate func device(_ name: String) throws(Problem) -> DeviceID {
        guard let id = parameters.get(name).flatMap({ DeviceID($0) }) else { throw .notFound("the phone") }
        return id
    }
}
