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

    func run() async throws -> SegmentWorker.Turn {
        if self.activity.isEnrolmentDue {
            try await self.orchestrator.enrolAudience(of: self.activity.key)
        }
        guard self.activity.state == .live else {
            try await self.abandon()
            return .idle
        }
        let channel = try await self.channel()
        if self.activity.delivery.usesChannel, channel == nil {
            return .idle  // the channel wakes the rings when it is ready
        }
        try await self.giveUpUnanswered()
        let claimed = try await self.claim()
        guard !claimed.isEmpty else { return .idle }
        guard let change = try await self.orchestrator.changes.stamped(self.activity.key, revision: self.activity.newest)
        else { return .idle }
        var results = StartResults(backoff: Backoff(cap: self.orchestrator.settings.retryCap))
        for (capability, members) in Dictionary(grouping: claimed, by: { $0.capability(for: self.activity.delivery) }) {
            switch capability {
            case nil: results.withhold(members, reason: "no_start_token")
            case .withheld(let reason): results.withhold(members, reason: reason.rawValue)
            case .withInputPushChannel: try await self.send(change, inputPush: channel.map { .channel($0) }, members, &results)
            case .withInputPushToken: try await self.send(change, inputPush: .token, members, &results)
            case .plain: try await self.send(change, inputPush: LiveActivityBody.InputPush.none, members, &results)
            }
        }
        try await self.settle(results, revision: change.revision)
        return results.credentialFailure.map { .failed(reason: $0) } ?? .worked
    }

    /// After the end no start leaves any more. One without an answer may have started a card; its token will tell.
    private func abandon() async throws {
        _ = try await self.orchestrator.database.execute(
            """
            UPDATE starts SET state = CASE state WHEN 'pending' THEN 'cancelled'::start_state ELSE 'unknown' END, due_at = NULL
            WHERE activity_key = \(self.activity.key) AND state IN ('pending', 'claimed', 'unknown') AND due_at IS NOT NULL
            """
        )
    }

    private func channel() async throws -> APNSChannelID? {
        let rows = try await self.orchestrator.database.query(
            "SELECT apns_channel_id FROM channels WHERE activity_key = \(self.activity.key) AND state = 'ready'"
        )
        return try rows.single(String?.self).flatMap { $0 }.map(APNSChannelID.init(stored:))
    }

    /// A start that was repeated and has no answer again is left to the phone's report.
    private func giveUpUnanswered() async throws {
        _ = try await self.orchestrator.database.execute(
            """
            UPDATE starts SET state = 'unknown', due_at = NULL
            WHERE activity_key = \(self.activity.key) AND state IN ('claimed', 'unknown') AND attempts >= 2
              AND due_at <= clock_timestamp()
            """
        )
    }

    private func claim() async throws -> [ClaimedStart] {
        let rows = try await self.orchestrator.database.query(
            """
            WITH due AS (
                SELECT device_key FROM starts
                WHERE activity_key = \(self.activity.key) AND state IN ('pending', 'claimed', 'unknown')
                  AND due_at <= clock_timestamp()
                ORDER BY due_at, device_key LIMIT \(Self.batchSize)
                FOR NO KEY UPDATE SKIP LOCKED
            ), claimed AS (
                UPDATE starts AS s
                SET state = 'claimed', attempts = s.attempts + 1, claimed_at = clock_timestamp(),
                    revision = CASE s.state WHEN 'pending' THEN \(self.activity.newest) ELSE s.revision END, reason = NULL,
                    due_at = clock_timestamp() + \(Duration.seconds(self.activity.policy.startRetrySeconds))
                FROM due
                WHERE s.activity_key = \(self.activity.key) AND s.device_key = due.device_key
                RETURNING s.device_key, s.failures
            )
            SELECT c.device_key, c.failures, t.token, d.os_version, d.activities_enabled, d.frequent_pushes_enabled
            FROM claimed AS c JOIN devices AS d USING (device_key)
            LEFT JOIN start_tokens AS t
                ON t.device_key = c.device_key AND t.type_name = \(self.activity.typeName.rawValue) AND t.state = 'live'
            """
        )
        return try rows.decoded(as: (Int64, Int16, [UInt8]?, String?, Bool, Bool).self).map {
            key,
            failures,
            token,
            osVersion,
            enabled,
            frequent in
            ClaimedStart(
                deviceKey: key,
                failures: Int(failures),
                token: token.flatMap(PushToken.init(bytes:)),
                osVersion: osVersion.flatMap(OSVersion.init),
                activitiesEnabled: enabled,
                frequent: frequent
            )
        }
    }

    private func send(
        _ change: ChangeToSend,
        inputPush: LiveActivityBody.InputPush?,
        _ members: [ClaimedStart],
        _ results: inout StartResults
    ) async throws {
        guard let inputPush else { return }
        let rendering = LiveActivityRendering(
            change: change,
            alert: try await self.orchestrator.changes.alert(self.activity.key, revision: 1),
            activity: self.activity
        )
        let batch = PushBatch(
            environment: self.activity.environment,
            identity: try await self.orchestrator.signing.identity(of: self.activity.bundleID, self.activity.environment),
            headers: PushHeaders(
                topic: self.activity.bundleID.liveActivityTopic,
                pushType: "liveactivity",
                priority: .ten,
                expiration: self.activity.policy.expiration(of: .start, at: change.timestamp)
            ),
            body: rendering.start(inputPush: inputPush),
            tokens: TokenBuffer(members.compactMap(\.token)),
            deadline: self.orchestrator.settings.pushDeadline
        )
        let answer = await self.orchestrator.sender.send(batch)
        var exceptions: [Int: PushOutcome] = [:]
        for exception in answer.exceptions {
            exceptions[exception.index] = exception.outcome
        }
        for (index, member) in members.enumerated() {
            results.answer(member, inputPush, exceptions[index])
        }
    }

    private func settle(_ results: StartResults, revision: Revision) async throws {
        let statements = results.statements(for: self.activity)
        try await self.orchestrator.database.withTransaction { connection in
            _ = try await connection.pipeline(statements)
        }
    }
}
