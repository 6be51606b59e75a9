package import APNSTransport
package import ActivityModel
import Logging
import Postgres
import Store

/// The result of asking Apple for a channel that it seems not to have.
package enum ChannelLoss: Sendable {
    /// It is gone, and that is on record: by us now, or by somebody else at the same moment. Its activity has another
    /// one if it still runs.
    case settled
    /// Apple has it after all.
    case isThere
    /// Apple did not say.
    case unclear(PushOutcome)
}

extension Channels {
    /// Makes sure that a channel is gone at Apple, and draws the consequences.
    ///
    /// Cards that listened to it cannot be told anything any more, not even where to go: their subscriptions are over
    /// (`channel_lost`). If their activity still runs, it gets another channel. That one serves phones that are started
    /// from now on, and apps that join again. No card is started a second time (promise 6).
    ///
    /// - Parameters:
    ///   - id: The channel.
    ///   - apnsID: Apple's name of it.
    ///   - app: Its app.
    ///   - environment: Its environment.
    ///   - reason: Why it seems to be gone.
    ///   - wait: Waits for the answer to the request that it gets.
    /// - Returns: What Apple says of the channel.
    /// - Throws: `PostgresError`; `SigningKeyMissing`.
    package func settleLoss(
        of id: ChannelID,
        _ apnsID: APNSChannelID,
        app: BundleID,
        _ environment: APNSEnvironment,
        reason: String,
        by wait: (() async -> ChannelReadingOutcome) async -> ChannelReadingOutcome = { await $0() }
    ) async throws -> ChannelLoss {
        let identity = try await store.signing.identity(of: app, environment)
        let reading = await wait {
            await apple.readChannel(environment: environment, identity: identity, bundleID: app, channelID: apnsID)
        }
        switch reading {
        case .found: return .isThere
        case .failed(let outcome): return .unclear(outcome)
        case .gone: break
        }
        let cards = self.cards
        let subscribers = try await cards.count(of: id)
        let isLost = try await database.withTransaction { connection in
            try await lose(id, app: app, environment, subscribers: subscribers, reason: reason, on: connection)
        }
        if isLost {
            store.logger.error("a channel is gone at Apple", metadata: ["channel.id": "\(id)", "app": "\(app)"])
            wake()
            // The sweeper ends the remaining cards.
            _ = try await cards.endSome(of: id)
        }
        return .settled
    }

    /// Records the loss. The cards are ended by batches behind it, however many they are.
    ///
    /// - Returns: Whether the channel was still to be used.
    private func lose(
        _ id: ChannelID,
        app: BundleID,
        _ environment: APNSEnvironment,
        subscribers: Int,
        reason: String,
        on connection: PostgresConnection
    ) async throws -> Bool {
        let lost = try await connection.query(
            """
            UPDATE channels AS c SET state = 'lost', lost_at = clock_timestamp(), delete_at = NULL, reason = \(reason),
                ended_through = CASE WHEN c.activity_key IS NOT NULL THEN 0 END
            WHERE c.channel_id = \(id.rawValue)::uuid AND c.state = 'ready'
            RETURNING c.storage::text, c.activity_key,
                      coalesce((SELECT a.state <> 'ended' FROM activities AS a WHERE a.activity_key = c.activity_key), false)
            """
        )
        guard let (word, activityKey, isRunning) = try lost.first(as: (String, Int64?, Bool).self) else { return false }
        var statements: [Query] = []
        if let activityKey, isRunning {
            statements += ChannelRows.assignment(to: [activityKey], app: app, environment, try .stored(word))
            statements.append(SegmentRows.wake(activityKeys: [activityKey]))
        }
        let event = Event.channelLost(
            id,
            of: activityKey.map { .activity(key: $0) } ?? .app(app, environment),
            subscribers: subscribers,
            isReplaced: isRunning,
            reason: reason
        )
        _ = try await connection.pipeline(statements + [EventRows.insertion([event])])
        return true
    }
}
