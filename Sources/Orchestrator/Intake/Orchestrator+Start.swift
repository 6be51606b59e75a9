package import APITypes
package import ActivityModel
import JSON
import Postgres
import Registry
package import Store

extension Orchestrator {
    /// Starts an activity, now or at its time.
    ///
    /// - Returns: The answer. It is a replay if the very same start had been accepted before.
    /// - Throws: 404 for an unknown app; 422 `unknown_type`, `invalid_attributes`, `invalid_content_state`,
    ///   `alert_required`, `payload_too_large`; 409 `attributes_conflict`, `activity_exists`. Nothing is changed then.
    package func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer> {
        try await start(app, id, request, idempotency: nil, origin: origin)
    }

    /// The same as an operation of a batch, which may have a key.
    func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        idempotency: IdempotencyKey?,
        origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer> {
        if let idempotency {
            let kept = try await database.withConnection { connection in
                try await KeptAnswers<StartAnswer>.read([idempotency], on: connection)
            }
            if let known = try kept.known(idempotency) {
                return try await finish(CountedAnswer(known, for: idempotency))
            }
        }
        let rows = try await database.pipeline([Registry.environments(of: app), StoredStart.selection(app, id)])
        let environment = try Registry.environment(request.environment, in: rows[0])
        // A replay is judged against the stored start alone; what the type or its policy say now does not matter.
        if let stored = try StoredStart.read(rows[1]) {
            return try await replay(stored, app, id, request, idempotency)
        }
        let appVersions = try await AudienceVersions.read(request.audience, of: app, environment, from: database)
        let accepted = try await keepingAnswer {
            try await registry.withCurrentType {
                try await insertStart(app, id, environment, request, appVersions, idempotency, origin)
            }
        }
        guard let accepted else {
            // Another request has taken the id at the same moment.
            guard let stored = try await StoredStart.read(app, id, from: database) else {
                throw Problem.notFound("the activity")
            }
            return try await replay(stored, app, id, request, idempotency)
        }
        return accepted
    }

    private func replay(
        _ stored: StoredStart,
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        _ idempotency: IdempotencyKey?
    ) async throws -> Replayable<StartAnswer> {
        try stored.judgeReplay(request)
        let draft = try await keepingAnswer {
            try await database.withTransaction { connection in
                try await StartDraft.make(app, id, replay: true, for: idempotency, on: connection)
            }
        }
        return try await finish(draft)
    }

    private func finish(_ draft: CountedAnswer<StartAnswer>) async throws -> Replayable<StartAnswer> {
        Replayable(try await draft.counted(in: database), isReplay: draft.status == StartDraft.replayStatus)
    }

    /// - Returns: Nil if the id is taken.
    private func insertStart(
        _ app: BundleID,
        _ id: ActivityID,
        _ environment: APNSEnvironment,
        _ request: StartRequest,
        _ appVersions: [String],
        _ idempotency: IdempotencyKey?,
        _ origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer>? {
        let type = try await typeContext(app, request.type)
        let proposal = try StartProposal(
            app: app,
            id: id,
            environment: environment,
            request: request,
            type: type,
            appVersions: appVersions,
            origin: origin
        )
        let generation = facts.generation
        let started: StartedActivity? = try await database.withTransaction { connection in
            try type.check(TypeVersionRows.updates(await connection.query(TypeVersionRows.hold([type]))))
            guard let key = try await proposal.insert(on: connection) else { return nil }
            let draft = try await StartDraft.make(
                app,
                id,
                after: try await proposal.parts(activityKey: key, on: connection),
                replay: false,
                reachesNobody: request.audience.isEmpty,
                for: idempotency,
                on: connection
            )
            return StartedActivity(key: key, draft: draft)
        }
        guard let started else { return nil }
        let name = ActivityFacts.Name(app: app, id: id)
        facts.store(ActivityFacts(proposal, key: started.key), for: name, lookedUpIn: generation)
        wakeUps.signal()
        return try await finish(started.draft)
    }
}

/// An activity that was inserted, and the answer to its start.
private struct StartedActivity {
    let key: Int64
    let draft: CountedAnswer<StartAnswer>
}
