import APNSTransport
package import APITypes
package import ActivityModel
import Postgres
import ReportTypes
package import Store

extension Channels {
    /// Makes a channel ahead of the activity that will use it.
    ///
    /// Apple cannot be asked twice for the same channel, so with an `Idempotency-Key` one request at a time asks. The
    /// others get an error that says to wait, and the same answer afterwards. A transaction holds the key, and takes a
    /// connection from the pool for as long as Apple is silent, so few may ask at the same time. A request without a
    /// key holds nothing meanwhile.
    ///
    /// - Throws: 404; 409 `idempotency_key_reused`, `idempotency_in_progress`; 502 `apns_refused` with Apple's word;
    ///   503 `unavailable` if Apple is unavailable, or too many ask with a key; `outcome_unknown` if Apple may have
    ///   made a channel that is not stored.
    package func create(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelResource> {
        do {
            let identity = try await store.signing.identity(of: app, environment)
            return try await makeChannel(app, environment, storage, signing: identity) { ask in
                guard let idempotency else {
                    let apnsID = try Self.made(await ask())
                    let channel = try await self.database.withTransaction { connection in
                        try await Self.store(apnsID, app, environment, storage, on: connection)
                    }
                    return Replayable(channel, isReplay: false)
                }
                return try await self.database.withTransaction { connection in
                    try await Self.holdKey(idempotency, on: connection)
                    return try await KeptAnswers.once(idempotency, status: 201, on: connection) {
                        let outcome = try await self.heldConnections.holding {
                            try await Self.whileHolding(on: connection, ask)
                        }
                        return try await Self.store(Self.made(outcome), app, environment, storage, on: connection)
                    }
                }
            }
        } catch is SigningKeyMissing {
            throw Problem.notFound("the app")
        }
    }

    private static func made(_ outcome: ChannelCreationOutcome) throws(Problem) -> APNSChannelID {
        switch outcome {
        case .created(let apnsID): apnsID
        case .failed(let outcome): throw problem(outcome)
        }
    }

    /// Holds a key until the transaction ends: if this daemon dies, the database lets go of it within 10 s.
    ///
    /// - Throws: 409 `idempotency_in_progress`.
    static func holdKey(_ key: IdempotencyKey, on connection: PostgresConnection) async throws {
        let name = key.scope.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        let rows = try await connection.query("SELECT pg_try_advisory_xact_lock(\(name))")
        guard try rows.single(Bool.self) == true else { throw Problem.idempotencyInProgress() }
    }

    /// How often the database hears of a daemon that holds something while it does something else.
    private static let signOfLife = Duration.seconds(3)

    /// Lets the database hear of this daemon as long as `body` takes, so that what it holds is not taken for a dead
    /// one's.
    private static func whileHolding<R: Sendable>(
        on connection: PostgresConnection,
        _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask { try await body() }
            defer { group.cancelAll() }
            while true {
                group.addTask {
                    try? await Task.sleep(for: Self.signOfLife)  // throws only when cancelled
                    return nil
                }
                if let result = try await group.next() ?? nil { return result }
                _ = try await connection.query("SELECT 1")
            }
        }
    }

    private static func store(
        _ apnsID: APNSChannelID,
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        on connection: PostgresConnection
    ) async throws -> ChannelResource {
        let id = try await ChannelRows.insert(apnsID, app: app, environment, storage) { try await connection.query($0) }
        let channel = try await channel(app, id, on: { try await connection.query($0) }).channel
        try await AuditRows.record(.channelCreated, of: app, id.rawValue, after: channel.json, on: connection)
        return channel
    }

    /// Channels of an app, the newest first, deleted ones included.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource> {
        let place = try page.position(in: .channels, PGTimestamp.self, ChannelID.self)
        let before = place?.0
        let rows = try await database.query(
            """
            \(unescaped: Self.channelRows)
            WHERE c.bundle_id = \(app.rawValue)
              AND (\(before)::timestamptz IS NULL OR (c.created_at, c.channel_id::text) < (\(before), \(place?.1.rawValue)))
            ORDER BY c.created_at DESC, c.channel_id::text DESC LIMIT \(page.limit + 1)
            """
        )
        if rows.isEmpty { try await store.requireApp(app) }
        return .cut(try await counted(Self.channels(in: rows)), of: .channels, limit: page.limit) {
            [String($0.createdAt.microseconds), $0.id.rawValue]
        }
    }

    /// One channel.
    ///
    /// - Throws: 404.
    package func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource {
        let found = try await Self.channel(app, id, on: { try await database.query($0) })
        return try await counted([found]).first ?? found.channel
    }

    /// The same channels with their followers.
    private func counted(_ channels: [(key: Int64?, channel: ChannelResource)]) async throws -> [ChannelResource] {
        let keys = Set(channels.compactMap(\.key))
        let counts = try await followers(keys)
        return channels.map { key, channel in
            var channel = channel
            channel.followers = key.flatMap { counts[$0] } ?? 0
            return channel
        }
    }

    private static func channel(
        _ app: BundleID,
        _ id: ChannelID,
        on query: (Query) async throws -> Rows
    ) async throws -> (key: Int64?, channel: ChannelResource) {
        let rows = try await query(
            """
            \(unescaped: channelRows)
            WHERE c.bundle_id = \(app.rawValue) AND c.channel_id = \(id.rawValue)::uuid
            """
        )
        guard let channel = try channels(in: rows).first else { throw Problem.notFound("the channel") }
        return channel
    }

    /// Deletes a channel at Apple, for good.
    ///
    /// - Throws: 404; 409 `channel_in_use` while its activity runs; 502, 503 as for creating.
    package func delete(_ app: BundleID, _ id: ChannelID) async throws {
        let claimed = try await database.withTransaction { connection in
            let claimed = try await connection.execute(
                """
                UPDATE channels AS c SET state = 'deleting', delete_at = clock_timestamp()
                WHERE c.bundle_id = \(app.rawValue) AND c.channel_id = \(id.rawValue)::uuid
                  AND \(unescaped: ChannelStanding.isAtApple("c"))
                  AND (c.activity_key IS NULL
                       OR EXISTS (SELECT FROM activities AS a WHERE a.activity_key = c.activity_key AND a.state = 'ended'))
                """
            )
            if claimed > 0 {
                let channel = try await Self.channel(app, id, on: { try await connection.query($0) }).channel
                try await AuditRows.record(.channelDeleted, of: app, id.rawValue, before: channel.json, on: connection)
            }
            return claimed
        }
        let channel = try await channel(app, id)
        if channel.state == .deleted || channel.state == .lost { return }
        guard claimed > 0, let apnsID = channel.apnsChannelID else {
            throw Problem.channelInUse()
        }
        if let outcome = try await deleteAtApple(app, channel.environment, apnsID, id) {
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
        _ id: ChannelID
    ) async throws -> PushOutcome? {
        let outcome = await apple.deleteChannel(
            environment: environment,
            identity: try await store.signing.identity(of: app, environment),
            bundleID: app,
            channelID: apnsID
        )
        switch outcome {
        case .deleted, .alreadyGone:
            _ = try await database.execute(ChannelRows.settlement(of: id))
            return nil
        case .failed(let outcome):
            _ = try await database.execute(
                "UPDATE channels SET reason = \(outcome.words) WHERE channel_id = \(id.rawValue)::uuid AND state = 'deleting'"
            )
            return outcome
        }
    }

    /// The problem that the caller gets. If the request to Apple only reads, it carries nothing out, even if the answer
    /// was lost.
    static func problem(_ outcome: PushOutcome, ofLook isLook: Bool = false) -> Problem {
        switch outcome.class {
        case .unknown where !isLook:
            .outcomeUnknown("APNs did not say what became of it (\(outcome.words)); it may have been carried out.")
        case .unknown, .notSent, .retry:
            .unavailable("APNs could not do it now (\(outcome.words)).")
        case .accepted, .tokenDead, .tokenRejected, .channelGone, .requestInvalid, .credential:
            .apnsRefused(outcome.words)
        }
    }

    private static let channelRows = """
        SELECT CASE WHEN c.state IN ('creating', 'ready') THEN c.activity_key END AS activity_key, c.channel_id::text,
               c.apns_channel_id, c.environment::text, c.storage::text, c.state::text, a.activity_id, c.created_at,
               c.delete_at, c.deleted_at, c.lost_at, c.reason
        FROM channels AS c LEFT JOIN activities AS a USING (activity_key)
        """

    /// Channels without their followers, with the keys of the activities that use them now.
    private static func channels(in rows: Rows) throws -> [(key: Int64?, channel: ChannelResource)] {
        try rows.map { row in
            let apnsID: String? = try row["apns_channel_id"]
            let activity: String? = try row["activity_id"]
            let channel = ChannelResource(
                id: ChannelID(stored: try row["channel_id"]),
                apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                environment: try .stored(row["environment"]),
                storage: try .stored(row["storage"]),
                state: try .stored(row["state"]),
                activityID: activity.map { ActivityID(stored: $0) },
                createdAt: try row["created_at"],
                deleteAt: try row["delete_at"],
                deletedAt: try row["deleted_at"],
                lostAt: try row["lost_at"],
                reason: try row["reason"]
            )
            return (try row["activity_key"], channel)
        }
    }
}
