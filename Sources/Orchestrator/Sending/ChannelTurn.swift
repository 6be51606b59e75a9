import APITypes
import APNSTransport
import ActivityModel
import Logging
import Postgres

/// The channel of an activity: made when it is needed, then sent each newest change.
struct ChannelTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    private struct Channel {
        let id: String
        let apnsID: APNSChannelID?
        let storage: ChannelStorage
        let state: ChannelState
        /// Subscribers that joined later than the newest broadcast.
        let behind: Int
        /// The database's clock before the push.
        let readAt: PGTimestamp
    }

    func run(_ stored: Carousel) async throws -> SegmentWorker.Turn {
        guard let channel = try await self.channel() else { return .idle }
        switch channel.state {
        case .creating: return try await self.create(channel)
        case .ready: return try await self.broadcast(stored, on: channel)
        case .deleting, .deleted: return .idle
        }
    }

    private func channel() async throws -> Channel? {
        let rows = try await self.orchestrator.database.query(
            """
            SELECT c.channel_id::text, c.apns_channel_id, c.storage::text, c.state::text,
                   (SELECT count(*) FROM subscriptions AS s
                    WHERE s.activity_key = c.activity_key AND s.mode = 'channel' AND s.state = 'due'
                      AND s.due_at <= now()),
                   now()
            FROM channels AS c WHERE c.activity_key = \(self.activity.key)
            """
        )
        for (id, apnsID, storage, state, behind, readAt) in try rows.decoded(
            as: (String, String?, String, String, Int64, PGTimestamp).self
        ) {
            return Channel(
                id: id,
                apnsID: apnsID.map(APNSChannelID.init(stored:)),
                storage: try .stored(storage),
                state: try .stored(state),
                behind: Int(behind),
                readAt: readAt
            )
        }
        return nil
    }

    /// Creating is not idempotent: after a lost answer a channel may be left at Apple, for reconcile to find.
    private func create(_ channel: Channel) async throws -> SegmentWorker.Turn {
        guard self.activity.state == .live else { return .idle }
        let outcome = await self.orchestrator.sender.createChannel(
            environment: self.activity.environment,
            identity: try await self.orchestrator.signing.identity(of: self.activity.bundleID, self.activity.environment),
            bundleID: self.activity.bundleID,
            storage: channel.storage
        )
        switch outcome {
        case .created(let apnsID):
            _ = try await self.orchestrator.database.withConnection { connection in
                try await connection.pipeline([
                    """
                    UPDATE channels SET state = 'ready', apns_channel_id = \(apnsID.rawValue), reason = NULL
                    WHERE channel_id = \(channel.id)::uuid AND state = 'creating'
                    """,
                    SegmentStore.wake(activityKeys: [self.activity.key], segments: .rings),
                ])
            }
            self.orchestrator.wakeUps.signal()
            return .worked
        case .failed(let outcome):
            _ = try await self.orchestrator.database.execute(
                "UPDATE channels SET reason = \(outcome.words) WHERE channel_id = \(channel.id)::uuid"
            )
            return .failed(reason: outcome.words)
        }
    }

    private func broadcast(_ stored: Carousel, on channel: Channel) async throws -> SegmentWorker.Turn {
        guard let apnsID = channel.apnsID else { return .idle }
        var (carousel, statements) = try await self.orchestrator.changes.turned(stored, to: self.activity)
        let (revision, alertRevision): (Revision, Revision?)
        switch carousel.next {
        case .send(let next, let alert, _, _): (revision, alertRevision) = (next, alert)
        case .rest where channel.behind > 0: (revision, alertRevision) = (carousel.completed, nil)
        case .rest: return .idle
        }
        guard let change = try await self.orchestrator.changes.stamped(self.activity.key, revision: revision) else {
            return .idle
        }
        let outcome = try await self.push(change, alertRevision, to: apnsID, storage: channel.storage)
        switch outcome.class {
        case .accepted, .requestInvalid:
            if !outcome.isAccepted {
                self.orchestrator.logger.error(
                    "APNs refuses a broadcast for good",
                    metadata: ["activity.key": "\(self.activity.key)", "apns.reason": "\(outcome.words)"]
                )
            }
            carousel.acknowledge(through: nil, reachedBound: true)
            statements.append(self.caughtUp(revision, channel.readAt))
            if change.kind == .end {
                statements.append(self.deletion(of: channel))
            }
            try await self.orchestrator.segments.acknowledge(self.lease, carousel, with: statements)
            return .worked
        case .retry, .credential, .unknown, .notSent, .channelGone, .tokenDead, .tokenRejected:
            // What the walk has turned to is kept, so that an alert is still owed when the failure is over.
            try await self.orchestrator.segments.acknowledge(self.lease, carousel, with: statements)
            return .failed(reason: outcome.words)
        }
    }

    private func push(
        _ change: ChangeToSend,
        _ alertRevision: Revision?,
        to channel: APNSChannelID,
        storage: ChannelStorage
    ) async throws -> PushOutcome {
        var alert: AlertContent?
        if let alertRevision {
            alert = try await self.orchestrator.changes.alert(self.activity.key, revision: alertRevision)
        }
        let priority = try await self.orchestrator.ledger
            .priority(of: change, hasAlert: alert != nil, in: self.activity, for: .channel)
        return await self.orchestrator.sender.broadcast(
            BroadcastPush(
                environment: self.activity.environment,
                identity: try await self.orchestrator.signing.identity(of: self.activity.bundleID, self.activity.environment),
                bundleID: self.activity.bundleID,
                channelID: channel,
                priority: priority,
                expiration: self.activity.policy.expiration(of: change.kind, at: change.timestamp, storage: storage),
                body: LiveActivityRendering(change: change, alert: alert, activity: self.activity).body(),
                deadline: self.orchestrator.settings.pushDeadline
            )
        )
    }

    /// Who had subscribed when the push left has it now; who reported since is still owed one.
    private func caughtUp(_ revision: Revision, _ readAt: PGTimestamp) -> Query {
        """
        UPDATE subscriptions SET state = 'riding', due_at = NULL, known_revision = greatest(known_revision, \(revision))
        WHERE activity_key = \(self.activity.key) AND mode = 'channel' AND state = 'due' AND due_at <= \(readAt)
        """
    }

    private func deletion(of channel: Channel) -> Query {
        """
        UPDATE channels
        SET delete_at = clock_timestamp()
            + \(Duration.seconds(self.activity.policy.channelGrace(channel.storage)))
        WHERE channel_id = \(channel.id)::uuid AND delete_at IS NULL
        """
    }
}
