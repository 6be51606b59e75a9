import APITypes
import ActivityModel
import Postgres

/// The answer to a start, of which the audience may still have to be counted.
///
/// Counting takes a while where the audience is large, and in the transaction others would wait for the type, and all
/// readers for the events that come after it. So it is counted there only for an answer that is kept with the start.
struct StartDraft: Sendable {
    private var answer: StartAnswer
    private var replay: Bool
    /// Whose audience is to be counted.
    private var uncounted: Int64?

    /// What tells a kept replay from a kept start.
    static let replayStatus: Int16 = 200

    /// Reads the answer in the transaction of what it tells of, and keeps it there if there is a key. If one was kept
    /// already, that is the answer.
    ///
    /// - Throws: 404.
    init(
        _ app: BundleID,
        _ id: ActivityID,
        replay: Bool,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws {
        self.replay = replay
        let activityKey: Int64
        (activityKey, answer) = try await Self.read(app, id, on: connection)
        guard let key else {
            uncounted = activityKey
            return
        }
        answer.audience = try await AudienceCount.of(activityKey) { try await connection.pipeline($0) }
        var kept = try await KeptAnswers<StartAnswer>.read([key], on: connection)
        if let (answer, status) = try kept.answerAndStatus(to: key) {
            (self.answer, self.replay) = (answer, status == Self.replayStatus)
            return
        }
        kept.keep(answer, for: key, status: replay ? Self.replayStatus : 202)
        _ = try await connection.pipeline(kept.statements)
    }

    /// The whole answer, when the transaction is committed.
    func counted(in database: Database) async throws -> (answer: StartAnswer, replay: Bool) {
        guard let uncounted else { return (answer, replay) }
        var answer = answer
        answer.audience = try await AudienceCount.of(uncounted) { try await database.pipeline($0) }
        return (answer, replay)
    }

    private static func read(
        _ app: BundleID,
        _ id: ActivityID,
        on connection: PostgresConnection
    ) async throws -> (activityKey: Int64, StartAnswer) {
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
            audience: AudienceCounts(devices: 0, unknownUsers: 0)
        )
        return (key, answer)
    }
}
