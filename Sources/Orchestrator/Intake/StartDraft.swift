import APITypes
import ActivityModel
import Postgres
import Store

/// Answers to starts whose audience is still to be counted.
enum StartDraft {
    /// The status that marks a kept replay, unlike a kept start.
    static let replayStatus: Int16 = 200

    /// Carries out the last statements of a transaction and reads the answer to it. If there is a key, the answer is
    /// kept; if one was kept already, that is the answer. Without a key it commits the transaction.
    ///
    /// `reachesNobody`: the activity is new and has no audience, so nobody has to be counted.
    ///
    /// - Throws: 404.
    static func make(
        _ app: BundleID,
        _ id: ActivityID,
        after statements: [Query] = [],
        replay: Bool,
        reachesNobody: Bool = false,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws -> CountedAnswer<StartAnswer> {
        let all = statements + [selection(app, id)]
        let rows = try await key == nil ? connection.commit(all) : connection.pipeline(all)
        guard let (activityKey, answer) = try rows.last.flatMap({ try read($0, id) }) else {
            throw Problem.notFound("the activity")
        }
        return try await CountedAnswer.keeping(
            answer,
            status: replay ? replayStatus : 202,
            of: reachesNobody ? nil : activityKey,
            for: key,
            on: connection
        )
    }

    private static func selection(_ app: BundleID, _ id: ActivityID) -> Query {
        """
        SELECT a.activity_key, a.state::text, a.revision, c.timestamp, l.channel_id::text, l.apns_channel_id,
               l.state::text AS channel_state
        FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
        LEFT JOIN LATERAL (
            SELECT * FROM channels AS l WHERE l.activity_key = a.activity_key ORDER BY l.lost_at DESC NULLS FIRST LIMIT 1
        ) AS l ON true
        WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
        """
    }

    /// Nil if there is no such activity.
    private static func read(_ rows: Rows, _ id: ActivityID) throws -> (activityKey: Int64, answer: StartAnswer)? {
        guard let row = rows.first else { return nil }
        let answer = StartAnswer(
            activityID: id,
            state: try .stored(row["state"]),
            revision: try row["revision"],
            timestamp: try row["timestamp"],
            channel: try channel(row),
            audience: AudienceCounts()
        )
        return (try row["activity_key"], answer)
    }

    private static func channel(_ row: Row) throws -> ChannelReference? {
        guard let id = try row["channel_id"] as String? else { return nil }
        let apnsID: String? = try row["apns_channel_id"]
        return ChannelReference(
            id: ChannelID(stored: id),
            apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
            state: try .stored(row["channel_state"])
        )
    }
}
