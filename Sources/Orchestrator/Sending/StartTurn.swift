import APNSTransport
import ActivityModel
import Postgres

/// One batch of starts: claimed by row before they leave, settled by row when they are answered (promise 6).
struct StartTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// Starts claimed at once; what a crash between claim and answer leaves in doubt.
    static let batchSize = 100

    /// What all starts of a batch have in common.
    private struct Content {
        let change: ChangeToSend
        let alert: AlertContent?
        let identity: SigningIdentity
        let channel: APNSChannelID?
    }

    func run() async throws -> SegmentWorker.Turn {
        if activity.isEnrolmentDue {
            try await orchestrator.enrolAudience(of: activity.key)
        }
        guard activity.state == .live else {
            _ = try await orchestrator.database.execute(Self.abandonment(of: activity.key))
            return .idle
        }
        let (channel, isDue) = try await prospect()
        // The channel wakes the rings when it is ready.
        guard isDue, channel != nil || !activity.delivery.usesChannel else { return .idle }
        // Everything that may fail comes before the claim, which a start should not have for nothing.
        guard let change = try await orchestrator.changes.stamped(activity.newest, under: lease) else { return .idle }
        let content = Content(
            change: change,
            alert: try await orchestrator.changes.alert(activity.key, revision: 1),
            identity: try await orchestrator.signing.identity(of: activity.bundleID, activity.environment),
            channel: channel
        )
        let claimed = try await claim()
        guard !claimed.isEmpty else { return .worked }
        var results = StartResults(backoff: Backoff(cap: orchestrator.settings.retryCap))
        for (capability, members) in Dictionary(grouping: claimed, by: { $0.capability(for: activity.delivery) }) {
            switch capability {
            case nil: results.withhold(members, reason: "no_start_token")
            case .withheld(let reason): results.withhold(members, reason: reason.rawValue)
            case .withInputPushChannel: await send(content, content.channel.map { .channel($0) }, members, &results)
            case .withInputPushToken: await send(content, .token, members, &results)
            case .plain: await send(content, LiveActivityBody.InputPush.none, members, &results)
            }
        }
        try await settle(results)
        return results.credentialFailure.map { .failed(reason: $0) } ?? .worked
    }

    /// The statement for an activity that is over: no start leaves any more. One without an answer may have started a
    /// card; its token will tell.
    static func abandonment(of activityKey: Int64) -> Query {
        """
        UPDATE starts SET state = CASE state WHEN 'pending' THEN 'cancelled'::start_state ELSE 'unknown' END, due_at = NULL
        WHERE activity_key = \(activityKey) AND state IN ('pending', 'claimed', 'unknown') AND due_at IS NOT NULL
        """
    }

    /// Gives up the starts that were repeated without an answer, which are left to the phones' reports; then looks at
    /// the channel, and whether a start is due.
    private func prospect() async throws -> (channel: APNSChannelID?, isDue: Bool) {
        let results = try await orchestrator.database.pipeline([
            """
            UPDATE starts SET state = 'unknown', due_at = NULL
            WHERE activity_key = \(activity.key) AND state IN ('claimed', 'unknown') AND attempts >= 2
              AND due_at <= now()
            """,
            "SELECT apns_channel_id FROM channels WHERE activity_key = \(activity.key) AND state = 'ready'",
            """
            SELECT EXISTS (
                SELECT FROM starts
                WHERE activity_key = \(activity.key) AND state IN ('pending', 'claimed', 'unknown') AND due_at <= now()
            )
            """,
        ])
        let channel = try results[1].single(String?.self).flatMap { $0 }.map(APNSChannelID.init(stored:))
        return (channel, try results[2].single(Bool.self) ?? false)
    }

    /// Claims what is due. A start that may have left already keeps its revision: the card may show that one.
    private func claim() async throws -> [ClaimedStart] {
        let rows = try await orchestrator.database.query(
            """
            WITH due AS MATERIALIZED (
                SELECT device_key FROM starts
                WHERE activity_key = \(activity.key) AND state IN ('pending', 'claimed', 'unknown') AND due_at <= now()
                ORDER BY due_at, device_key LIMIT \(Self.batchSize)
                FOR NO KEY UPDATE SKIP LOCKED
            ), claimed AS (
                UPDATE starts AS s
                SET state = 'claimed', attempts = s.attempts + 1, claimed_at = clock_timestamp(), renewed = false,
                    revision = CASE WHEN s.attempts = 0 THEN \(activity.newest) ELSE coalesce(s.revision, \(activity.newest)) END,
                    reason = NULL, due_at = clock_timestamp() + \(Duration.seconds(activity.policy.startRetrySeconds))
                FROM due
                WHERE s.activity_key = \(activity.key) AND s.device_key = due.device_key
                RETURNING s.device_key, s.failures, s.claimed_at
            )
            SELECT c.device_key, c.failures, c.claimed_at, t.token, d.os_version, d.activities_enabled,
                   d.frequent_pushes_enabled
            FROM claimed AS c JOIN devices AS d USING (device_key)
            LEFT JOIN start_tokens AS t
                ON t.device_key = c.device_key AND t.type_name = \(activity.typeName.rawValue) AND t.state = 'live'
            ORDER BY c.device_key
            """
        )
        return try rows.decoded(as: (Int64, Int16, PGTimestamp, [UInt8]?, String?, Bool, Bool).self).map {
            key,
            failures,
            claimedAt,
            token,
            osVersion,
            enabled,
            frequent in
            ClaimedStart(
                deviceKey: key,
                failures: Int(failures),
                claimedAt: claimedAt,
                token: token.flatMap(PushToken.init(bytes:)),
                osVersion: osVersion.flatMap(OSVersion.init),
                activitiesEnabled: enabled,
                frequent: frequent
            )
        }
    }

    private func send(
        _ content: Content,
        _ inputPush: LiveActivityBody.InputPush?,
        _ members: [ClaimedStart],
        _ results: inout StartResults
    ) async {
        guard let inputPush else { return }
        let rendering = LiveActivityRendering(change: content.change, alert: content.alert, activity: activity)
        let batch = PushBatch(
            environment: activity.environment,
            identity: content.identity,
            headers: PushHeaders(
                bundleID: activity.bundleID,
                priority: .ten,
                expiration: activity.policy.expiration(of: .start, at: content.change.timestamp)
            ),
            body: rendering.start(inputPush: inputPush),
            tokens: TokenBuffer(members.compactMap(\.token)),
            deadline: orchestrator.settings.pushDeadline
        )
        let answer = await orchestrator.sender.send(batch)
        var exceptions: [Int: PushOutcome] = [:]
        for exception in answer.exceptions {
            exceptions[exception.index] = exception.outcome
        }
        for (index, member) in members.enumerated() {
            results.answer(member, inputPush, exceptions[index])
        }
    }

    /// Records the answers, in a task of its own: when the lease is lost meanwhile they are no less true, and a start
    /// whose answer is forgotten would be sent twice.
    private func settle(_ results: StartResults) async throws {
        let statements = results.statements(for: activity)
        try await Task {
            do {
                _ = try await orchestrator.database.pipeline(statements)
            } catch let error as PostgresError where error.sqlState == "40P01" {
                // A deadlock with a registration or a deletion of the same devices, which has the right of way now.
                _ = try await orchestrator.database.pipeline(statements)
            }
        }.value
    }
}
