import APNSTransport
package import APITypes
package import ActivityModel
import Postgres

extension Orchestrator {
    /// Makes a channel ahead of the activity that will use it.
    ///
    /// - Throws: 404, 422; 502 `apns_refused` with Apple's word, 503 if Apple did not answer.
    package func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> ChannelResource {
        let environment = try await environment(request.environment, of: app)
        let outcome = await sender.createChannel(
            environment: environment,
            identity: try await signing.identity(of: app, environment),
            bundleID: app,
            storage: request.storage
        )
        switch outcome {
        case .failed(let outcome):
            throw Self.problem(outcome)
        case .created(let apnsID):
            let rows = try await database.query(
                """
                INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id)
                VALUES (\(app.rawValue), \(environment.rawValue)::apns_environment,
                        \(request.storage.rawValue)::channel_storage, 'ready', \(apnsID.rawValue))
                RETURNING channel_id::text
                """
            )
            guard let id = try rows.single(String.self) else { throw Problem.internalError() }
            return try await channel(app, ChannelID(stored: id))
        }
    }

    /// Channels of an app, the newest first, deleted ones included.
    package func channels(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource> {
        let place = try page.position(columns: 2)
        let before = try place.map { place in
            guard let microseconds = Int64(place[0]) else { throw PageCursor.refused }
            return PGTimestamp(microseconds: microseconds)
        }
        let found = try await readChannels(
            """
            \(unescaped: Self.channelRows)
            WHERE c.bundle_id = \(app.rawValue)
              AND (\(before)::timestamptz IS NULL OR (c.created_at, c.channel_id::text) < (\(before), \(place?[1])))
            ORDER BY c.created_at DESC, c.channel_id::text DESC LIMIT \(page.limit + 1)
            """
        )
        return .cut(found, limit: page.limit) { [String($0.createdAt.microseconds), $0.id.rawValue] }
    }

    /// One channel.
    ///
    /// - Throws: 404.
    package func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource {
        let found = try await readChannels(
            """
            \(unescaped: Self.channelRows)
            WHERE c.bundle_id = \(app.rawValue) AND c.channel_id = \(id.rawValue)::uuid
            """
        )
        guard let channel = found.first else { throw Problem.notFound("the channel") }
        return channel
    }

    /// Deletes a channel at Apple, for good.
    ///
    /// - Throws: 404; 409 `channel_in_use` while its activity runs; 502, 503 as for creating.
    package func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws {
        let claimed = try await database.execute(
            """
            UPDATE channels AS c SET state = 'deleting', delete_at = clock_timestamp()
            WHERE c.bundle_id = \(app.rawValue) AND c.channel_id = \(id.rawValue)::uuid AND c.state IN ('ready', 'deleting')
              AND NOT EXISTS (SELECT FROM activities AS a WHERE a.activity_key = c.activity_key AND a.state <> 'ended')
            """
        )
        let channel = try await channel(app, id)
        if channel.state == .deleted { return }
        guard claimed > 0, let apnsID = channel.apnsChannelID else {
            throw Problem.conflict(code: "channel_in_use", detail: "The channel serves an activity that has not ended.")
        }
        if let outcome = try await deleteAtApple(app, channel.environment, apnsID, id.rawValue) {
            throw Self.problem(outcome)
        }
    }

    /// Deletes a channel that is marked for it, and records it.
    ///
    /// - Returns: Why not; nil when it is gone.
    func deleteAtApple(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ apnsID: APNSChannelID,
        _ id: String
    ) async throws -> PushOutcome? {
        let outcome = await sender.deleteChannel(
            environment: environment,
            identity: try await signing.identity(of: app, environment),
            bundleID: app,
            channelID: apnsID
        )
        switch outcome {
        case .deleted, .alreadyGone:
            _ = try await database.execute(
                """
                UPDATE channels SET state = 'deleted', deleted_at = clock_timestamp(), delete_at = NULL, reason = NULL
                WHERE channel_id = \(id)::uuid AND state = 'deleting'
                """
            )
            return nil
        case .failed(let outcome):
            return outcome
        }
    }

    private static func problem(_ outcome: PushOutcome) -> Problem {
        switch outcome.class {
        case .unknown, .notSent, .retry:
            .unavailable("APNs could not do it now (\(outcome.words)).")
        case .accepted, .tokenDead, .tokenRejected, .channelGone, .requestInvalid, .credential:
            Problem(status: 502, code: "apns_refused", detail: "APNs refused it: \(outcome.words).")
        }
    }

    private static let channelRows = """
        SELECT c.channel_id::text, c.apns_channel_id, c.environment::text, c.storage::text, c.state::text,
               a.activity_id, c.created_at, c.delete_at, c.deleted_at
        FROM channels AS c LEFT JOIN activities AS a USING (activity_key)
        """

    private func readChannels(_ query: Query) async throws -> [ChannelResource] {
        let rows = try await database.query(query)
        return try rows.decoded(
            as: (
                String, String?, String, String, String, String?, PGTimestamp, PGTimestamp?, PGTimestamp?
            ).self
        ).map { id, apnsID, environment, storage, state, activity, created, deleteAt, deleted in
            ChannelResource(
                id: ChannelID(stored: id),
                apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                environment: try .stored(environment),
                storage: try .stored(storage),
                state: try .stored(state),
                activityID: activity.map { ActivityID(stored: $0) },
                createdAt: Instant(created),
                deleteAt: deleteAt.map { Instant($0) },
                deletedAt: deleted.map { Instant($0) }
            )
        }
    }
}
