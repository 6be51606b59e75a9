import APITypes
import ActivityModel
import Console
import Cryptography
import Foundation
import FoundationNetworking
import HTTPAPI
import Intake
import JSON
import Logging
import OrchestratorTestSupport
import Postgres
import Schema
import ServiceLifecycle
import Store
import TestSupport

@testable import Orchestrator

/// The console over real HTTP and a real database, with two apps and a key for each scope.
struct RunningConsole: Sendable {
    static let mine = "com.example.mine"
    static let other = "com.example.other"
    static let bootstrap = "first-steps-of-all"
    /// A text that would be markup if it were not escaped.
    static let hostile = "<script>alert('x')</script>\"><img src=x>"

    let url: String
    let orchestrator: Orchestrator
    /// Keys of ``mine`` by scope.
    let bound: [Scope: String]
    let console: Console

    /// Sends a request without following redirects.
    func send(
        _ method: String,
        _ path: String,
        cookie: String? = nil,
        form: [(String, String)]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Reply {
        guard let address = URL(string: url + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: address)
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        if let form {
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(
                form.map { Self.encode($0.0) + "=" + Self.encode($0.1) }.joined(separator: "&").utf8
            )
        }
        let session = URLSession(configuration: .ephemeral, delegate: NoRedirects(), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return Reply(response, text: String(decoding: data, as: UTF8.self))
    }

    /// Shows a page; of the events, which never end, the head alone.
    func show(_ path: String, cookie: String?) async throws -> Reply {
        guard path.hasPrefix("/console/events/stream") else { return try await send("GET", path, cookie: cookie) }
        guard let address = URL(string: url + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: address)
        request.httpShouldHandleCookies = false
        if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
        let (heads, head) = AsyncStream.makeStream(of: HTTPURLResponse.self)
        let session = URLSession(configuration: .ephemeral, delegate: HeadAlone(head: head), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: request).resume()
        for await head in heads { return Reply(head, text: "") }
        throw URLError(.badServerResponse)
    }

    /// Signs in; the cookie of the session.
    func signIn(_ key: String) async throws -> String {
        let form = try await send("GET", "/console/sign-in")
        let visitor = form.cookie("tally-visitor") ?? ""
        let answer = try await send(
            "POST",
            "/console/sign-in",
            cookie: visitor,
            form: [("form_token", form.token), ("key", key)]
        )
        guard answer.status == 303, let cookie = answer.cookie("tally-session") else {
            throw URLError(.userAuthenticationRequired)
        }
        return cookie
    }

    /// Sends a form of a page with the token of that session.
    func post(_ path: String, _ cookie: String, _ form: [(String, String)]) async throws -> Reply {
        let page = try await send("GET", "/console/activities", cookie: cookie)
        return try await send("POST", path, cookie: cookie, form: [("form_token", page.token)] + form)
    }

    static func encode(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    static func run(_ body: (RunningConsole) async throws -> Void) async throws {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        try await withDatabase(migrations: migrations) { database in
            let masterKey = SymmetricKey.generate()
            let silence = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let orchestrator = Orchestrator(
                database: database,
                sender: NoSender(),
                masterKeys: MasterKeys(masterKey),
                settings: OrchestratorSettings { $0.bootstrapKey = bootstrap },
                logger: silence
            )
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await orchestrator.intake.duty.run() }
                for app in [mine, other] { try await register(BundleID(stored: app), orchestrator) }
                var bound: [Scope: String] = [:]
                for scope in Scope.allCases {
                    let request = APIKeyRequest(
                        name: scope.rawValue,
                        scopes: [scope],
                        bundleID: BundleID(stored: mine)
                    )
                    bound[scope] = try await orchestrator.createAPIKey(request).secret
                }
                let console = Console(seal: try SessionSeal(masterKeys: [masterKey]))
                let (addresses, listening) = AsyncStream.makeStream(of: ListeningAddress.self)
                let server = HTTPServer(
                    service: orchestrator,
                    configuration: HTTPServerConfiguration { $0.port = 0 },
                    metrics: PrometheusMetrics(),
                    console: console,
                    onListening: { listening.yield($0) },
                    logger: silence
                )
                let group = ServiceGroup(configuration: .init(services: [server], logger: silence))
                tasks.addTask { try await group.run() }
                for await address in addresses {
                    let running = RunningConsole(
                        url: address.url,
                        orchestrator: orchestrator,
                        bound: bound,
                        console: console
                    )
                    try await body(running)
                    break
                }
                await group.triggerGracefulShutdown()
                tasks.cancelAll()
            }
        }
    }

    /// Makes an app without types.
    static func makeApp(_ app: BundleID, _ orchestrator: Orchestrator) async throws {
        let key = JSONValue.string(try P256PrivateKey.generate().pem()).text
        let body = #"{"team_id":"ABCDE12345","environments":{"production":{"key_id":"KEY1234567","private_key":"#
        _ = try await orchestrator.putApp(app, AppRequest(json: JSONValue(parsing: body + key + "}}}")))
    }

    private static func register(_ app: BundleID, _ orchestrator: Orchestrator) async throws {
        try await makeApp(app, orchestrator)
        let type = """
            {"attributes_schema": {"type": "object", "properties": {"home": {"type": "string"}}}, "content_state_schema":
            {"type": "object", "properties": {"score": {"type": "integer"}, "note": {"type": "string"}}, "required": ["score"]}}
            """
        _ = try await orchestrator.putType(
            app,
            ActivityTypeName(stored: "Game"),
            TypeRequest(json: JSONValue(parsing: type)),
            force: false
        )
        let start = JSONValue.object([
            "type": "Game", "attributes": ["home": .string(hostile)],
            "content_state": ["score": 1, "note": .string(hostile)],
        ])
        _ = try await orchestrator.intake.start(
            app,
            ActivityID(stored: "match-of-" + app.rawValue),
            StartRequest(json: start),
            origin: nil
        )
    }
}

/// What came back.
struct Reply: Sendable {
    let status: Int
    /// By name in lower case.
    let fields: [String: String]
    let text: String

    init(_ response: HTTPURLResponse, text: String) {
        status = response.statusCode
        fields = Dictionary(
            response.allHeaderFields.map { ("\($0)".lowercased(), "\($1)") },
            uniquingKeysWith: { _, last in last }
        )
        self.text = text
    }

    /// `name=value` of a cookie that the answer sets.
    func cookie(_ name: String) -> String? {
        guard let header = fields["set-cookie"], let start = header.range(of: name + "=") else { return nil }
        return String(header[start.lowerBound...].prefix { $0 != ";" && $0 != "," })
    }

    /// The value of the first hidden input of that name.
    func hidden(_ name: String) -> String {
        guard let start = text.range(of: "<input type=\"hidden\" name=\"\(name)\" value=\"") else { return "" }
        let value = String(text[start.upperBound...].prefix { $0 != "\"" })
        return value.replacing("&quot;", with: "\"").replacing("&lt;", with: "<").replacing("&gt;", with: ">")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }

    /// The token of the page's forms.
    var token: String {
        guard let start = text.range(of: "name=\"form_token\" value=\"") else { return "" }
        return String(text[start.upperBound...].prefix { $0 != "\"" })
    }
}

/// Gives redirects back instead of following them.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

/// Takes the head of an answer, and no more of it.
private final class HeadAlone: NSObject, URLSessionDataDelegate, Sendable {
    private let head: AsyncStream<HTTPURLResponse>.Continuation

    init(head: AsyncStream<HTTPURLResponse>.Continuation) {
        self.head = head
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { head.yield(response) }
        head.finish()
        completionHandler(.cancel)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        head.finish()
    }
}
