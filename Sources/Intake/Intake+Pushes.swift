package import APITypes
package import ActivityModel
import Cards
import DeliveryStore
import JSON
import Postgres
import Registry
package import Store

extension Intake {
    /// Accepts an ordinary push: it is stored with the answer, and ``PushQueue`` sends it.
    ///
    /// - Throws: 404 for an unknown app, device or user; 409 `no_device_token`; 422 if the push type or Apple's limits
    ///   refuse it.
    package func push(
        _ app: BundleID,
        _ request: PushRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<PushAnswer> {
        let body = try Self.body(of: request)
        var environment: APNSEnvironment?
        if case .token(_, let named) = request.to {
            environment = try await registry.environment(named, of: app, at: ["to", "environment"])
        }
        return try await seeingDeletions {
            try await keepingAnswer { try await insert(request, body, app, environment, idempotency) }
        }
    }

    /// - Throws: 422 with every rule of the push type that is broken; `payload_too_large`.
    private static func body(of request: PushRequest) throws(Problem) -> [UInt8] {
        let body = try PushPayload(request.pushType, aps: request.aps, custom: request.custom ?? [:]).body
        if let excess = request.pushType.sizeLimit.excess(body.count) {
            throw .payloadTooLarge(
                bytes: excess.bytes,
                limit: excess.limit.bytes,
                detail: "The push would have \(excess.bytes) bytes; Apple's limit is \(excess.limit.bytes)."
            )
        }
        return body
    }

    private func insert(
        _ request: PushRequest,
        _ body: [UInt8],
        _ app: BundleID,
        _ environment: APNSEnvironment?,
        _ idempotency: IdempotencyKey?
    ) async throws -> Replayable<PushAnswer> {
        try await database.withTransaction { connection in
            try await KeptAnswers.once(idempotency, on: connection) {
                try await store.holdApp(app, connection)
                try await Store.checkExpiry(request.expiresAt, on: connection)
                let destinations = try await PushDestinations.read(request.to, app, environment, on: connection)
                let ids = try await connection.query(
                    destinations.insertion(of: request, body, app)
                ).decoded(as: String.self)
                guard let id = ids.first else { throw Problem.internalError() }
                return PushAnswer(pushID: id, destinations: ids.count)
            }
        }
    }
}

/// The tokens that one push goes to.
private struct PushDestinations {
    var deviceKeys: [Int64?] = []
    var environments: [String] = []
    var tokens: [[UInt8]] = []

    /// How long a push without an end of its own is tried.
    private static let patience = Duration.seconds(86_400)

    /// - Throws: 404; 409 `no_device_token`.
    static func read(
        _ target: PushRequest.Target,
        _ app: BundleID,
        _ environment: APNSEnvironment?,
        on connection: PostgresConnection
    ) async throws -> PushDestinations {
        switch target {
        case .token(let token, _):
            let word = (environment ?? .production).rawValue
            return PushDestinations(deviceKeys: [nil], environments: [word], tokens: [token.bytes])
        case .device(let id):
            let query: Query = """
                SELECT device_key, environment::text, \(unescaped: UsableToken.ofDevice) FROM devices AS d
                WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) FOR KEY SHARE
                """
            return try await read(query, "the device", on: connection)
        case .user(let id):
            let query: Query = """
                SELECT device_key, environment::text, \(unescaped: UsableToken.ofDevice) FROM devices AS d
                WHERE bundle_id = \(app.rawValue) AND user_id = \(id.rawValue) ORDER BY device_key
                FOR KEY SHARE
                """
            return try await read(query, "the user", on: connection)
        }
    }

    private static func read(
        _ query: Query,
        _ whom: String,
        on connection: PostgresConnection
    ) async throws -> PushDestinations {
        let rows = try await connection.query(query).decoded(as: (Int64, String, [UInt8]?).self)
        if rows.isEmpty { throw Problem.notFound(whom) }
        var destinations = PushDestinations()
        for (key, environment, token) in rows {
            guard let token else { continue }
            destinations.deviceKeys.append(key)
            destinations.environments.append(environment)
            destinations.tokens.append(token)
        }
        if destinations.tokens.isEmpty { throw Problem.noDeviceToken(whom) }
        return destinations
    }

    func insertion(of request: PushRequest, _ body: [UInt8], _ app: BundleID) -> Query {
        let priority = request.priority ?? (request.pushType.priorities.contains(.ten) ? .ten : .five)
        return PushRows.insertion(
            of: request,
            body,
            app,
            priority: priority,
            deviceKeys: deviceKeys,
            environments: environments,
            tokens: tokens,
            patience: Self.patience
        )
    }
}
