package import APITypes
package import ActivityModel
import Postgres
import Store

extension Registry {
    /// Changes what a user or a device follows. All devices of a user follow it, now and later.
    ///
    /// Followers who now belong to the audience of a running activity are started before this returns. The cards of
    /// others stay, or end by the policy `on_unfollow`.
    ///
    /// The list and the ends are written in one transaction, for the first page of a user's devices. The rest follows
    /// page by page. A repeated request carries out what is missing.
    ///
    /// - Throws: 404 for an unknown app or device; 422 for too many topics.
    package func putTopics(
        _ app: BundleID,
        of follower: UserOrDevice,
        _ request: TopicsRequest,
        activities: any ActivityKeeper
    ) async throws -> FollowedTopics {
        let (change, first) = try await seeingDeletions {
            try await database.withYieldingTransaction { connection in
                try await store(request, app, of: follower, activities, on: connection)
            }
        }
        var page = first
        while true {
            // A device that registers meanwhile sees the topics, or is seen here.
            try await activities.startActivities(on: page, after: [], isReport: false)
            guard case .user(let user) = follower, page.count == settings.stretchSize, let last = page.last else {
                break
            }
            page = try await database.withYieldingTransaction { connection in
                let next = try await hold(user, app, after: last, on: connection)
                let changed = TopicRows.Changed(deviceKeys: next, change: change)
                try await TopicRows.endCards(of: [changed], activities, on: connection)
                return next
            }
        }
        if !change.isNone { wake() }
        return FollowedTopics(topics: change.result)
    }

    /// The topics that a user or a device follows.
    ///
    /// - Throws: 404 for an unknown app or device.
    package func topics(_ app: BundleID, of follower: UserOrDevice) async throws -> FollowedTopics {
        try await database.withConnection { connection in
            try await store.requireApp(app, connection)
            let rows: TopicRows.Follower
            switch follower {
            case .user(let user): rows = .user(user)
            case .device(let id):
                guard let key = try await Self.key(of: id, app, connection) else {
                    throw Problem.notFound("the device")
                }
                rows = .device(key: key)
            }
            let topics = try await connection.query(TopicRows.selection(of: rows, in: app)).decoded(as: String.self)
            return FollowedTopics(topics: topics.map { Topic(stored: $0) })
        }
    }

    /// - Returns: What changes, and the first of the follower's devices, which are locked.
    private func store(
        _ request: TopicsRequest,
        _ app: BundleID,
        of follower: UserOrDevice,
        _ activities: any ActivityKeeper,
        on connection: PostgresConnection
    ) async throws -> (TopicChange, [Int64]) {
        try await store.holdApp(app, connection)
        let rows: TopicRows.Follower
        let devices: [Int64]
        switch follower {
        case .user(let user):
            // Two requests for one user are carried out one after the other. A user has no row of its own to lock.
            let name = "topics of \(app.rawValue)/\(user.rawValue)"
            _ = try await connection.query("SELECT pg_advisory_xact_lock(hashtextextended(\(name), 0))")
            rows = .user(user)
            devices = try await hold(user, app, after: 0, on: connection)
        case .device(let id):
            let found = try await connection.query(
                """
                SELECT device_key FROM devices
                WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) FOR NO KEY UPDATE
                """
            )
            guard let key = try found.single(Int64.self) else { throw Problem.notFound("the device") }
            rows = .device(key: key)
            devices = [key]
        }
        let stored = try await connection.query(TopicRows.selection(of: rows, in: app)).decoded(as: String.self)
        let change = try TopicChange(request, of: Set(stored.map { Topic(stored: $0) }))
        let statements = TopicRows.statements(change, of: rows, in: app)
        if !statements.isEmpty { _ = try await connection.pipeline(statements) }
        let changed = TopicRows.Changed(deviceKeys: devices, change: change)
        try await TopicRows.endCards(of: [changed], activities, on: connection)
        return (change, devices)
    }

    /// Locks a page of a user's devices, as all do who change their cards.
    private func hold(
        _ user: UserID,
        _ app: BundleID,
        after key: Int64,
        on connection: PostgresConnection
    ) async throws -> [Int64] {
        let rows = try await connection.query(
            """
            SELECT d.device_key FROM (
                SELECT device_key FROM devices
                WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue) AND device_key > \(key)
                ORDER BY device_key LIMIT \(settings.stretchSize)
            ) AS page JOIN devices AS d USING (device_key)
            ORDER BY d.device_key FOR NO KEY UPDATE OF d
            """
        )
        return try rows.decoded(as: Int64.self)
    }
}
