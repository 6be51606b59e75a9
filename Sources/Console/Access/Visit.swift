import APITypes
import ActivityModel
import JSON

/// One request of a person who is signed in.
struct Visit: Sendable {
    let request: ConsoleRequest
    let query: FormFields
    let form: FormFields
    let owner: KeyOwner
    let secret: String
    var formToken: FormToken
    let api: any ConsoleAPI
    let memory: ConsoleMemory

    var now: Instant { request.now }
    var rates: Rates { memory.rates }

    /// Whether the browser asks for the live parts of a page that it shows.
    var isRenewal: Bool { request.method == "GET" && query[Renewals.parameter] != nil }

    func allows(_ scope: Scope) -> Bool { owner.allows(scope) }

    /// Gets a resource from the API.
    ///
    /// - Throws: The `Problem` that the API answered.
    func get<Answer: APIAnswer>(_ path: APIPath, as _: Answer.Type = Answer.self) async throws -> Answer {
        try Answer(json: try await send("GET", path))
    }

    /// Sends a request to the API.
    ///
    /// - Throws: The `Problem` that the API answered.
    @discardableResult
    func send(
        _ method: String,
        _ path: APIPath,
        _ body: JSONValue? = nil,
        idempotencyKey: String? = nil
    ) async throws -> JSONValue {
        let call = ConsoleCall(method: method, path: path, secret: secret, body: body, idempotencyKey: idempotencyKey)
        return try await api.answer(to: call).json()
    }

    /// The text that the API answers to a `GET`; nil if it refuses.
    func text(_ path: APIPath) async -> String? {
        let reply = await api.answer(to: ConsoleCall(method: "GET", path: path, secret: secret))
        return reply.status == 200 ? String(decoding: reply.body, as: UTF8.self) : nil
    }

    // MARK: Apps

    /// The apps that the key sees, by id.
    func apps() async throws -> [AppResource] {
        try await get("/v1/apps?limit=1000", as: Page<AppResource>.self).items
    }

    /// The app that a page of `place` is about, and all that could be chosen.
    ///
    /// - Throws: ``NoApp`` if there is none yet; 404 or 403 for one that the key does not see.
    func choice(_ place: Layout.Place = .now) async throws -> AppChoice {
        if let name = query["app"], owner.app == nil || owner.app?.rawValue != name {
            let app = try await get("/v1/apps/\(name)", as: AppResource.self)
            return AppChoice(app: app, all: try await apps())
        }
        let all = try await apps()
        guard let app = all.first(where: { $0.bundleID.rawValue == query["app"] }) ?? all.first else {
            throw NoApp(place: place)
        }
        return AppChoice(app: app, all: all)
    }
}

/// The app that a page is about.
struct AppChoice: Sendable {
    let app: AppResource
    let all: [AppResource]

    var id: String { app.bundleID.rawValue }
    var environments: [APNSEnvironment] { APNSEnvironment.allCases.filter { app.environments[$0] != nil } }
}

/// No app is registered yet, so that a page of `place` has nothing to show but ``FirstSteps``.
struct NoApp: Error {
    let place: Layout.Place
}
