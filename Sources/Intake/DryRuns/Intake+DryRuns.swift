package import APITypes
package import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Record
import Registry
import Store

// A dry run runs the code of the real request up to its commit. It decides and writes the change, renders the pushes
// from what was written, and rolls the transaction back. So the two can never say different things.
extension Intake {
    /// The pushes that a start would send, and to whom.
    ///
    /// - Throws: As ``start(_:_:_:origin:)``.
    package func dryRunStart(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest
    ) async throws -> DryRunAnswer {
        let start = RequestedStart(app: app, id: id, request: request, idempotencyKey: nil, origin: nil)
        let environment = try await registry.environment(request.environment, of: app)
        if let stored = try await KeptStart.read(start.name, from: database) {
            try stored.judgeReplay(request)
            let activity = try await record.activity(app, id)
            return .unchanged(id, activity.revision, activity.timestamp)
        }
        return try await registry.withCurrentType {
            let proposal = try await proposal(start)
            // The slow part comes before the transaction.
            let counts = try await StartCounts.read(
                request.audience,
                of: app,
                environment,
                type: request.type,
                pageSize: settings.stretchSize,
                from: database
            )
            return try await rollingBack { connection in
                let command = StartCommand(start, .success(proposal))
                let group = try await StartGroup.judge([command], isPatient: true, on: connection)
                guard let activity = group.activities.first else {
                    _ = try group.answers.first??.get()
                    throw Problem.activityExists()
                }
                _ = try await connection.pipeline(
                    NewActivityRows.parts(of: [activity])
                        + NewActivityRows.channelSegments(of: [activity], leasing: 0, for: segments)
                )
                let plan = try await PushPlan.read(activity.key, revision: 1, on: connection)
                var answer = plan.answer
                answer.at = request.startsAt
                answer.audience = counts.audience
                if !request.audience.isEmpty {
                    (answer.pushes, answer.withheld) = try await plan.starts(for: counts, proposal.type, on: connection)
                }
                return answer
            }
        }
    }

    /// The pushes that an update would send, and to how many.
    ///
    /// - Throws: As ``update(_:_:_:idempotency:origin:)``.
    package func dryRunUpdate(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest
    ) async throws -> DryRunAnswer {
        try await registry.withCurrentType {
            try await dryRun(RequestedChange(app: app, id: id, body: .update(request), origin: nil))
        }
    }

    /// The pushes that an end would send, and to how many.
    ///
    /// - Throws: As ``end(_:_:_:idempotency:origin:)``.
    package func dryRunEnd(_ app: BundleID, _ id: ActivityID, _ request: EndRequest) async throws -> DryRunAnswer {
        try await registry.withCurrentType {
            try await dryRun(RequestedChange(app: app, id: id, body: .end(request), origin: nil))
        }
    }

    private func dryRun(_ change: RequestedChange) async throws -> DryRunAnswer {
        let facts = try await facts(change.app, change.id)
        var command = try change.command(facts, await registry.typeContext(change.app, facts.typeName))
        command = command.knowing(unused: try await unusedVersions([command]), change)
        let now = try await change.at == nil ? nil : databaseTime()
        let time = change.time(after: now)
        // Work that is slow, or takes a connection, comes first: during the transaction others wait for the activity.
        let cards = try await CardCounts.read(facts.key, pageSize: settings.stretchSize, from: database)
        let identity =
            facts.delivery.usesChannel ? try await signing.identity(of: change.app, facts.environment) : nil
        return try await rollingBack { [command] connection in
            // A watch of its own: what it has seen here was not written.
            let judged = try await ChangeGroup.judge(
                [command],
                skews: ClockSkewWatch(),
                segments: segments,
                leasing: nil,
                isPatient: true,
                on: connection
            )
            if !judged.statements.isEmpty { _ = try await connection.pipeline(judged.statements) }
            guard let given = try judged.answers.first?.get(),
                case .accepted(let id, let revision, let timestamp, let unchanged) = given.answer
            else {
                throw Problem.internalError()
            }
            if unchanged || given.isReplay { return .unchanged(id, revision, timestamp) }
            let plan = try await PushPlan.read(
                command.activity.key,
                revision: revision,
                on: connection
            )
            var answer = plan.answer
            answer.at = time
            (answer.pushes, answer.withheld) = try await plan.changes(for: cards, identity, on: connection)
            return answer
        }
    }

    /// Thrown to undo a transaction that has done its work.
    private struct RolledBack: Error {
        let answer: DryRunAnswer
    }

    private func rollingBack(
        _ body: (PostgresConnection) async throws -> DryRunAnswer
    ) async throws -> DryRunAnswer {
        do {
            return try await database.withTransaction { connection in
                throw RolledBack(answer: try await body(connection))
            }
        } catch let over as RolledBack {
            return over.answer
        }
    }
}

extension DryRunAnswer {
    fileprivate static func unchanged(_ id: ActivityID, _ revision: Revision, _ timestamp: Timestamp?) -> DryRunAnswer {
        DryRunAnswer(activityID: id, revision: revision, timestamp: timestamp, unchanged: true)
    }
}
