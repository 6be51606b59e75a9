import ActivityModel
package import Postgres
package import Store

/// Whether the continuation of a card can be begun, once the card is old enough.
package enum ContinuationProspect: Sendable, Hashable {
    /// As far as this can be told, it can.
    case open
    /// The app reported the card a short time ago. It can when so much time has passed.
    case resting(Duration)
    /// Its start is due, after so much time at the latest, or on its way.
    case underWay(Duration)
    /// Not before the device registers again, reports the card, or reports another version of iOS. Each brings another
    /// look.
    case never
}

extension ContinuationProspect {
    /// Reads it for cards that the transaction has locked.
    ///
    /// A registration that this does not see is committed later. It then waits for the locks and has the cards looked at
    /// again (``Continuations/lookAgain(deviceKeys:)``). So no new start token is missed.
    package static func read(
        _ cards: [CardKey],
        on connection: PostgresConnection
    ) async throws -> [CardKey: ContinuationProspect] {
        guard !cards.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT s.activity_key, s.device_key,
                   a.state = 'ended' OR d.environment <> a.environment
                   OR NOT \(unescaped: StartTokenState.mayLive(device: "s.device_key", type: "a.type_name"))
                   OR coalesce(\(unescaped: Self.isSpent), false)
                   OR coalesce(o.due_at >= s.started_at + \(Duration.seconds(CardWatch.lifetimeSeconds)), false)
                       AS is_hopeless,
                   d.os_version, d.activities_enabled, a.delivery::text,
                   (extract(epoch FROM s.registered_at + \(Continuations.rest) - clock_timestamp()) * 1000000)::int8
                       AS rest,
                   (extract(epoch FROM o.due_at - clock_timestamp()) * 1000000)::int8 AS until_due
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions AS c
                WHERE c.activity_key = r.activity_key AND c.device_key = r.device_key OFFSET 0
            ) AS s
            CROSS JOIN LATERAL (SELECT * FROM activities WHERE activity_key = r.activity_key OFFSET 0) AS a
            CROSS JOIN LATERAL (SELECT * FROM devices WHERE device_key = r.device_key OFFSET 0) AS d
            LEFT JOIN LATERAL (
                SELECT * FROM starts WHERE starts.activity_key = r.activity_key AND starts.device_key = r.device_key OFFSET 0
            ) AS o ON true
            """
        )
        var prospects: [CardKey: ContinuationProspect] = [:]
        for row in rows { try prospects[CardKey(row)] = ContinuationProspect(row) }
        return prospects
    }

    private init(_ row: Row) throws {
        let isHopeless: Bool = try row["is_hopeless"]
        let osVersion: String? = try row["os_version"]
        let capability = DeviceCapability(
            osVersion: osVersion.flatMap { OSVersion($0) },
            activitiesEnabled: try row["activities_enabled"],
            delivery: try .stored(row["delivery"])
        )
        let untilDue: Int64? = try row["until_due"]
        let rest: Int64 = try row["rest"]
        if isHopeless {
            self = .never
        } else if case .withheld = capability {
            self = .never
        } else if let untilDue {
            self = .underWay(.microseconds(max(untilDue, 0)))
        } else {
            self = rest > 0 ? .resting(.microseconds(rest)) : .open
        }
    }

    /// The condition that the start `o` has left for the card `s`, perhaps in vain, and does not leave again: that might
    /// make a third card. Only a report of a new card tells more.
    private static let isSpent = """
        (o.due_at IS NULL AND (o.state = 'unknown' OR (o.attempts > 0 AND EXISTS (
            SELECT FROM continuations AS k
            WHERE k.activity_key = s.activity_key AND k.device_key = s.device_key
              AND k.activitykit_id = s.activitykit_id OFFSET 0))))
        """
}
