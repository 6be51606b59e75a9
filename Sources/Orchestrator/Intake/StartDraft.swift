import APITypes
import ActivityModel
import Postgres
import Store

/// Answers to starts, of which the audience is still to be counted.
enum StartDraft {
    /// What tells a kept replay from a kept start.
    static let replayStatus: Int16 = 200

    /// Reads the answer in the transaction of what it tells of, and keeps it there if there is a key. If one was kept
    /// already, that is the answer.
    ///
    /// - Throws: 404.
    static func make(
        _ app: BundleID,
        _ id: ActivityID,
        replay: Bool,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws -> CountedAnswer<StartAnswer> {
        let (activityKey, answer) = try await read(app, id, on: connection)
        return try await CountedAnswer.keeping(
            answer,
            status: replay ? replayStatus : 202,
            of: activityKey,
            for: key,
            on: connection
        )
    }

    private static func read(
        _ app: BundleID,
        _ id: ActivityID,
        on connection: PostgresConnection
    ) async throws -> (activityKey: Int64, answer: StartAnswer) {
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
        let answer = StartAnswer(
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
            audience: AudienceCounts()
        )
        return (key, answer)
    }
}
