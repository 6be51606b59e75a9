package import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// Starts an activity, now or at its time.
    ///
    /// - Returns: The answer, and whether the very same start had been accepted before.
    /// - Throws: 404 for an unknown app; 422 `unknown_type`, `invalid_attributes`, `invalid_content_state`,
    ///   `alert_required`, `payload_too_large`; 409 `attributes_conflict`, `activity_exists`. Nothing is changed then.
    package func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest
    ) async throws -> (answer: StartAnswer, replay: Bool) {
        try await start(app, id, request, idempotency: nil)
    }

    /// The same as an operation of a batch, which may have a key.
    func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        idempotency: IdempotencyKey?
    ) async throws -> (answer: StartAnswer, replay: Bool) {
        if let idempotency {
            let kept = try await database.withConnection { connection in
                try await KeptAnswers<StartAnswer>.read([idempotency], on: connection)
            }
            if let (answer, status) = try kept.answerAndStatus(to: idempotency) {
                return (answer, status == Self.replayStatus)
            }
        }
        let environment = try await environment(request.environment, of: app)
        // A replay is judged against the stored start alone; what the type or its policy say now does not matter.
        if let stored = try await StoredStart.read(app, id, from: database) {
            return try await replay(stored, app, id, request, idempotency)
        }
        let appVersions = try await AudienceVersions.read(request.audience, of: app, environment, from: database)
        let accepted = try await keepingAnswer {
            try await withCurrentType {
                try await insertStart(app, id, environment, request, appVersions, idempotency)
            }
        }
        guard let accepted else {
            // Another request has taken the id at the same moment.
            guard let stored = try await StoredStart.read(app, id, from: database) else {
                throw Problem.notFound("the activity")
            }
            return try await replay(stored, app, id, request, idempotency)
        }
        wakeUps.signal()
        return accepted
    }

    private func replay(
        _ stored: StoredStart,
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        _ idempotency: IdempotencyKey?
    ) async throws -> (answer: StartAnswer, replay: Bool) {
        try stored.judgeReplay(request)
        return try await keepingAnswer {
            try await database.withTransaction { connection in
                let answer = try await Self.startAnswer(app, id, on: connection)
                return try await Self.keep(answer, replay: true, for: idempotency, on: connection)
            }
        }
    }

    /// - Returns: Nil if the id is taken.
    private func insertStart(
        _ app: BundleID,
        _ id: ActivityID,
        _ environment: APNSEnvironment,
        _ request: StartRequest,
        _ appVersions: [String],
        _ idempotency: IdempotencyKey?
    ) async throws -> (answer: StartAnswer, replay: Bool)? {
        let type = try await typeContext(app, request.type)
        let proposal = try StartProposal(
            app: app,
            id: id,
            environment: environment,
            request: request,
            type: type,
            appVersions: appVersions
        )
        return try await database.withTransaction { connection in
            try type.check(TypeVersionRows.updates(await connection.query(TypeVersionRows.hold([type]))))
            guard let key = try await proposal.insert(on: connection) else { return nil }
            try await proposal.insertParts(activityKey: key, on: connection)
            let answer = try await Self.startAnswer(app, id, on: connection)
            return try await Self.keep(answer, replay: false, for: idempotency, on: connection)
        }
    }

    /// Keeps an answer in the transaction of what it tells of. If one was kept already, that is the answer.
    private static func keep(
        _ answer: StartAnswer,
        replay: Bool,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws -> (answer: StartAnswer, replay: Bool) {
        guard let key else { return (answer, replay) }
        var kept = try await KeptAnswers<StartAnswer>.read([key], on: connection)
        if let (answer, status) = try kept.answerAndStatus(to: key) { return (answer, status == replayStatus) }
        kept.keep(answer, for: key, status: replay ? replayStatus : 202)
        _ = try await connection.pipeline(kept.statements)
        return (answer, replay)
    }

    /// What tells a kept replay from a kept start.
    private static let replayStatus: Int16 = 200

    /// The environment that a request means: its own, else production if the app has it, else the only one.
    func environment(_ requested: APNSEnvironment?, of app: BundleID) async throws -> APNSEnvironment {
        let rows = try await database.query(
            """
            SELECT k.environment::text FROM apps AS p LEFT JOIN signing_keys AS k USING (bundle_id)
            WHERE p.bundle_id = \(app.rawValue)
            """
        )
        let words = try rows.decoded(as: String?.self)
        guard !words.isEmpty else { throw Problem.notFound("the app") }
        let configured = try words.compactMap { $0 }.map { word -> APNSEnvironment in try .stored(word) }
        let environment = requested ?? (configured.contains(.production) ? .production : configured.first)
        guard let environment, configured.contains(environment) else {
            throw Problem.invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.invalidValue,
                message: "The app has no key for this environment."
            )
        }
        return environment
    }

    private static func startAnswer(
        _ app: BundleID,
        _ id: ActivityID,
        on connection: PostgresConnection
    ) async throws -> StartAnswer {
        let rows = try await connection.query(
            """
            SELECT a.activity_key, a.state::text, a.revision, c.timestamp, l.channel_id::text, l.apns_channel_id, l.state::text
            FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
            LEFT JOIN LATERAL (
                SELECT * FROM channels AS l WHERE l.activity_key = a.activity_key ORDER BY l.lost_at DESC NULLS FIRST LIMIT 1
            ) AS l ON true
            WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
            """
        )
        guard
            let (key, state, revision, timestamp, channel, apnsID, channelState) = try rows.first(
                as: (Int64, String, Int64, Int64?, String?, String?, String?).self
            )
        else { throw Problem.notFound("the activity") }
        return StartAnswer(
            activityID: id,
            state: try .stored(state),
            revision: revision,
            timestamp: timestamp,
            channel: try channel.map { id in
                ChannelReference(
                    id: ChannelID(stored: id),
                    apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                    state: try .stored(channelState ?? "")
                )
            },
            audience: try await AudienceRows.counts(key) { try await connection.query($0) }
        )
    }
}
