package import APITypes
package import ActivityModel
import Postgres
import Store

extension Registry {
    /// One device; its tokens are masked.
    ///
    /// - Throws: 404.
    package func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource {
        let devices = try await database.withConnection { connection in
            let rows = try await connection.query(
                """
                SELECT \(unescaped: Self.deviceColumns) FROM devices
                WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue)
                """
            )
            return try await Self.devices(rows, connection)
        }
        guard let found = devices.first else { throw Problem.notFound("the device") }
        return found.device
    }

    /// Devices in the order of their first registration. The filters are a user and a token.
    ///
    /// A `token` of two bytes means all tokens that begin so, as answers show them. Any other one is a whole token: a
    /// search for longer prefixes would reveal a token digit by digit. Reads at most ``tokensSearched`` tokens of each
    /// kind.
    package func devices(
        _ app: BundleID,
        user: UserID? = nil,
        token: PushToken? = nil,
        _ page: PageRequest
    ) async throws -> Page<DeviceResource> {
        let after = try page.position(in: .devices, Int64.self)
        let found = try await database.withConnection { connection in
            try await store.requireApp(app, connection)
            let rows = try await connection.query(Self.list(app, user, token, after: after ?? 0, limit: page.limit + 1))
            return try await Self.devices(rows, connection)
        }
        return .cut(found, of: .devices, limit: page.limit, item: \.device) { [String($0.key)] }
    }

    /// The most tokens of a kind that one search looks at.
    private static let tokensSearched = 1_000

    private static func list(
        _ app: BundleID,
        _ user: UserID?,
        _ token: PushToken?,
        after key: Int64,
        limit: Int
    ) -> Query {
        if let token { return list(app, user, having: token, after: key, limit: limit) }
        guard let user else {
            return """
                SELECT \(unescaped: deviceColumns) FROM devices
                WHERE bundle_id = \(app.rawValue) AND device_key > \(key)
                ORDER BY device_key LIMIT \(limit)
                """
        }
        // The few of a user come from their index, whatever Postgres takes for likely; in the order of keys it would
        // read all.
        return """
            SELECT \(unescaped: deviceColumns) FROM (
                SELECT * FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue) OFFSET 0
            ) AS devices
            WHERE device_key > \(key)
            ORDER BY device_key LIMIT \(limit)
            """
    }

    private static func list(
        _ app: BundleID,
        _ user: UserID?,
        having token: PushToken,
        after key: Int64,
        limit: Int
    ) -> Query {
        let start = Array(token.bytes.prefix(2))
        // Each kind of token has an index of its own. Device tokens have no index of whole tokens.
        let isWhole = token.bytes.count > start.count
        let column = { (name: String) in isWhole ? name : "substring(\(name) FROM 1 FOR 2)" }
        return """
            SELECT \(unescaped: deviceColumns) FROM devices
            WHERE device_key = ANY(ARRAY(
                (SELECT device_key FROM subscriptions WHERE \(unescaped: column("update_token")) = \(token.bytes)
                 LIMIT \(tokensSearched))
                UNION
                (SELECT device_key FROM start_tokens WHERE \(unescaped: column("token")) = \(token.bytes)
                 LIMIT \(tokensSearched))
                UNION
                (SELECT device_key FROM devices
                 WHERE bundle_id = \(app.rawValue) AND substring(device_token FROM 1 FOR 2) = \(start)
                   AND \(unescaped: column("device_token")) = \(token.bytes)
                 LIMIT \(tokensSearched))
            )) AND bundle_id = \(app.rawValue)
              AND (\(user?.rawValue)::text IS NULL OR user_id = \(user?.rawValue)) AND device_key > \(key)
            ORDER BY device_key LIMIT \(limit)
            """
    }

    /// The devices with those keys.
    static func devices(keys: [Int64], _ connection: PostgresConnection) async throws -> [Int64: DeviceResource] {
        guard !keys.isEmpty else { return [:] }
        let rows = try await connection.query(
            "SELECT \(unescaped: deviceColumns) FROM devices WHERE device_key = ANY(\(keys))"
        )
        let devices = try await devices(rows, connection)
        return Dictionary(uniqueKeysWithValues: devices.map { ($0.key, $0.device) })
    }

    /// The key of the device with that id.
    static func key(of id: DeviceID, _ app: BundleID, _ connection: PostgresConnection) async throws -> Int64? {
        let rows = try await connection.query(
            "SELECT device_key FROM devices WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue)"
        )
        return try rows.single(Int64.self)
    }

    private static let deviceColumns = """
        device_key, device_id, environment::text, user_id, os_version, app_version, activities_enabled,
        frequent_pushes_enabled, device_token, token_rejected_at IS NOT NULL AS is_token_rejected,
        created_at, updated_at
        """

    /// Reads rows of ``deviceColumns``, and the start tokens that belong to them.
    private static func devices(
        _ rows: Rows,
        _ connection: PostgresConnection
    ) async throws -> [(key: Int64, device: DeviceResource)] {
        var devices: [(key: Int64, device: DeviceResource)] = []
        for row in rows { devices.append((key: try row["device_key"], device: try deviceWithoutTokens(row))) }
        let tokens = try await readStartTokens(deviceKeys: devices.map(\.key), connection)
        for index in devices.indices {
            devices[index].device.startTokens = tokens[devices[index].key] ?? [:]
        }
        return devices
    }

    private static func deviceWithoutTokens(_ row: Row) throws -> DeviceResource {
        let user: String? = try row["user_id"]
        let osVersion: String? = try row["os_version"]
        let appVersion: String? = try row["app_version"]
        let token: [UInt8]? = try row["device_token"]
        let isRejected: Bool = try row["is_token_rejected"]
        let tokenState: TokenState? = token == nil ? nil : isRejected ? .rejected : .live
        return DeviceResource(
            deviceID: DeviceID(stored: try row["device_id"]),
            environment: try .stored(row["environment"]),
            userID: user.map { UserID(stored: $0) },
            osVersion: osVersion.flatMap { OSVersion($0) },
            appVersion: appVersion.flatMap { AppVersion($0) },
            activitiesEnabled: try row["activities_enabled"],
            frequentPushesEnabled: try row["frequent_pushes_enabled"],
            deviceToken: token.flatMap { PushToken(bytes: $0)?.description },
            deviceTokenState: tokenState,
            createdAt: try row["created_at"],
            updatedAt: try row["updated_at"]
        )
    }

    private static func readStartTokens(
        deviceKeys: [Int64],
        _ connection: PostgresConnection
    ) async throws -> [Int64: [ActivityTypeName: StartTokenResource]] {
        guard !deviceKeys.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT device_key, type_name, token, generation, state::text, registered_at
            FROM start_tokens WHERE device_key = ANY(\(deviceKeys))
            """
        )
        var tokens: [Int64: [ActivityTypeName: StartTokenResource]] = [:]
        for row in rows {
            // The table allows what a token may have, so this is never nil.
            guard let token = PushToken(bytes: try row["token"]) else { continue }
            let key: Int64 = try row["device_key"]
            let type = ActivityTypeName(stored: try row["type_name"])
            tokens[key, default: [:]][type] = StartTokenResource(
                token: token.description,
                generation: try row["generation"],
                state: try .stored(row["state"]),
                registeredAt: try row["registered_at"]
            )
        }
        return tokens
    }
}
