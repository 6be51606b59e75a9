import APITypes
import APNSTransport
import ActivityModel
import Logging
import Postgres
import Store

/// Compares the channels of an app in one environment with Apple's list, and does what ``ChannelComparison`` decides.
struct ChannelReconciliation: Sendable {
    let room: Channels
    let app: BundleID
    let environment: APNSEnvironment
    /// Nil: it only looks, and writes nothing, here or at Apple.
    let lease: ChannelSweepLease?

    /// Channels that one reconcile asks Apple about or deletes; the others keep for the next one.
    private static let maximumActions = 100

    /// Apple did not say which channels there are.
    struct ListRefused: Error, Sendable {
        let outcome: PushOutcome
    }

    /// - Throws: ``ListRefused``; ``LeaseLost``; ``SigningKeyMissing``.
    func run() async throws -> ChannelReport {
        let identity = try await room.store.signing.identity(of: app, environment)
        guard let listedAt = try await room.database.query("SELECT clock_timestamp()").single(PGTimestamp.self)
        else { throw LeaseLost() }
        let list: [APNSChannelID]
        switch await room.apple.listChannels(environment: environment, identity: identity, bundleID: app) {
        case .failed(let outcome): throw ListRefused(outcome: outcome)
        case .listed(let ids): list = ids
        }
        // Our records are read after Apple's list, so that what was recorded meanwhile is not taken for unknown.
        let records = try await ChannelRecords.read(app, environment, listed: list, from: room.database)
        let comparison = ChannelComparison(
            listed: list,
            records: records.channels,
            running: records.running,
            sightings: records.sightings,
            isExclusive: records.isExclusive,
            listedAt: Instant(listedAt)
        )
        var report = ChannelReport(
            environment: environment,
            dryRun: lease == nil,
            atApple: comparison.listed,
            known: comparison.known,
            unused: comparison.unused,
            creating: records.creating
        )
        var actionsLeft = lease == nil ? 0 : Self.maximumActions
        for decision in comparison.decisions {
            guard var finding = ChannelFinding(decision) else { continue }
            if let lease, finding.action != .keep, actionsLeft > 0 {
                try await room.sweeps.renew(lease)
                let result = await carryOut(decision)
                finding.isDone = result == .done
                finding.reason = result.reason
                actionsLeft = result.isFromApple ? 0 : actionsLeft - 1
            }
            report.findings.append(finding)
        }
        if let lease { try await keep(comparison, under: lease) }
        return report
    }

    /// Remembers since when unknown channels are there, and reports what is new about them.
    private func keep(_ comparison: ChannelComparison, under lease: ChannelSweepLease) async throws {
        var (watched, forgotten): ([String], [String]) = ([], [])
        for decision in comparison.decisions {
            switch decision {
            case .watch(let id, _, _): watched.append(id.rawValue)
            case .forget(let id): forgotten.append(id.rawValue)
            case .lose, .settle, .deleteAgain, .deleteUnknown: break
            }
        }
        try await room.database.withTransaction { connection in
            let results = try await connection.pipeline([
                """
                INSERT INTO unknown_channels (bundle_id, environment, apns_channel_id)
                SELECT \(app.rawValue), \(environment.rawValue)::apns_environment, id FROM unnest(\(watched)) AS id
                ON CONFLICT DO NOTHING
                """,
                Self.forgetting(forgotten, app, environment),
                Self.news(in: app, environment),
                room.sweeps.record(atApple: comparison.listed, under: lease),
            ])
            var events: [Event] = []
            let new = try results[2].decoded(as: String.self)
            if !new.isEmpty { events.append(.channelsUnknown(new, of: subject)) }
            let before = try results[3].single(Int32?.self) ?? nil
            if Event.isQuotaLow(comparison.listed), !Event.isQuotaLow(Int(before ?? 0)) {
                events.append(.channelQuotaLow(atApple: comparison.listed, of: subject))
            }
            if !events.isEmpty { _ = try await connection.execute(EventRows.insertion(events)) }
        }
    }

    /// The statement for the unknown channels that have been seen for a minute since the last reconcile. A younger one
    /// may be ours, made at this moment and not recorded yet. Run it before this reconcile is recorded.
    private static func news(in app: BundleID, _ environment: APNSEnvironment) -> Query {
        let settling = Duration.seconds(ChannelComparison.settlingTime)
        return """
            SELECT u.apns_channel_id FROM unknown_channels AS u JOIN channel_sweeps AS s USING (bundle_id, environment)
            WHERE u.bundle_id = \(app.rawValue) AND u.environment = \(environment.rawValue)::apns_environment
              AND u.first_seen_at <= now() - \(settling)
              AND u.first_seen_at > coalesce(s.reconciled_at, '-infinity') - \(settling)
            ORDER BY u.apns_channel_id
            """
    }

    private var subject: Event.Subject { .app(app, environment) }

    private static func forgetting(_ ids: [String], _ app: BundleID, _ environment: APNSEnvironment) -> Query {
        """
        DELETE FROM unknown_channels
        WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
          AND apns_channel_id = ANY(\(ids))
        """
    }

    // MARK: Acting

    /// The result of carrying out one decision. The next reconcile repeats decisions that were not carried out.
    private enum Result: Equatable {
        case done
        case notDone(reason: String)
        /// Apple refused or did not answer. It is not bothered further this time.
        case refused(reason: String)

        init(_ outcome: PushOutcome?) {
            self = outcome.map { .refused(reason: $0.words) } ?? .done
        }

        var reason: String? {
            switch self {
            case .done: nil
            case .notDone(let reason), .refused(let reason): reason
            }
        }

        var isFromApple: Bool {
            if case .refused = self { return true }
            return false
        }
    }

    private func carryOut(_ decision: ChannelComparison.Decision) async -> Result {
        do {
            return try await act(on: decision)
        } catch {
            room.store.logger.error(
                "a channel cannot be reconciled",
                metadata: ["app": "\(app)", "error": "\(error)"]
            )
            return .notDone(reason: "internal error")
        }
    }

    private func act(on decision: ChannelComparison.Decision) async throws -> Result {
        switch decision {
        case .lose(let record, _):
            switch try await room.settleLoss(
                of: record.id,
                record.apnsID,
                app: app,
                environment,
                reason: "not in Apple's list"
            ) {
            case .settled: return .done
            case .isThere: return .notDone(reason: "Apple has it, although it is not in the list")
            case .unclear(let outcome): return Result(outcome)
            }
        case .settle(let record):
            _ = try await room.database.execute(ChannelRows.settlement(of: record.id))
            return .done
        case .deleteAgain(let record):
            _ = try await room.database.pipeline([
                """
                UPDATE channels AS c SET state = 'deleting', deleted_at = NULL, delete_at = clock_timestamp()
                WHERE channel_id = \(record.id.rawValue)::uuid AND \(unescaped: ChannelStanding.isGone("c"))
                """,
                EventRows.insertion([.channelReclaimed(record.apnsID, of: subject)]),
            ])
            return Result(try await room.deleteAtApple(app, environment, record.apnsID, record.id))
        case .deleteUnknown(let id, _):
            return try await deleteUnknown(id)
        case .watch, .forget:
            return .done
        }
    }

    private func deleteUnknown(_ id: APNSChannelID) async throws -> Result {
        let outcome = await room.apple.deleteChannel(
            environment: environment,
            identity: try await room.store.signing.identity(of: app, environment),
            bundleID: app,
            channelID: id
        )
        if case .failed(let outcome) = outcome { return Result(outcome) }
        _ = try await room.database.pipeline([
            Self.forgetting([id.rawValue], app, environment),
            EventRows.insertion([.channelReclaimed(id, of: subject)]),
        ])
        return .done
    }
}

/// The records of an app's channels in one environment.
struct ChannelRecords: Sendable {
    var channels: [ChannelComparison.Record] = []
    var running: Set<ActivityID> = []
    var sightings: [APNSChannelID: Instant] = [:]
    var isExclusive = false
    /// Requested channels that do not exist yet.
    var creating = 0

    static func read(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        listed: [APNSChannelID],
        from database: Database
    ) async throws -> ChannelRecords {
        let place: (app: String, environment: String) = (app.rawValue, environment.rawValue)
        let results = try await database.pipeline([
            """
            SELECT c.channel_id::text, c.apns_channel_id, c.state::text,
                   coalesce(c.deleted_at, c.lost_at, c.ready_at, c.created_at) AS since, a.activity_id,
                   c.delete_at IS NOT NULL AS is_done, coalesce(a.state <> 'ended', false) AS is_running
            FROM channels AS c LEFT JOIN activities AS a USING (activity_key)
            WHERE c.bundle_id = \(place.app) AND c.environment = \(place.environment)::apns_environment
              AND c.apns_channel_id IS NOT NULL
              AND (\(unescaped: ChannelStanding.isAtApple("c")) OR c.apns_channel_id = ANY(\(listed.map(\.rawValue))))
            ORDER BY c.created_at, c.channel_id
            """,
            """
            SELECT apns_channel_id, first_seen_at FROM unknown_channels
            WHERE bundle_id = \(place.app) AND environment = \(place.environment)::apns_environment
            """,
            "SELECT channels_exclusive FROM apps WHERE bundle_id = \(place.app)",
            """
            SELECT count(*) FROM channels
            WHERE bundle_id = \(place.app) AND environment = \(place.environment)::apns_environment AND state = 'creating'
            """,
        ])
        var records = ChannelRecords()
        for row in results[0] {
            let channel = try ChannelComparison.Record(row)
            records.channels.append(channel)
            let isRunning: Bool = try row["is_running"]
            if let activity = channel.activity, isRunning { records.running.insert(activity) }
        }
        for (id, firstSeen) in try results[1].decoded(as: (String, PGTimestamp).self) {
            records.sightings[APNSChannelID(stored: id)] = Instant(firstSeen)
        }
        records.isExclusive = try results[2].single(Bool.self) ?? false
        records.creating = Int(try results[3].single(Int64.self) ?? 0)
        return records
    }
}

extension ChannelComparison.Record {
    fileprivate init(_ row: Row) throws {
        let activity: String? = try row["activity_id"]
        self.init(
            id: ChannelID(stored: try row["channel_id"]),
            apnsID: APNSChannelID(stored: try row["apns_channel_id"]),
            state: try .stored(row["state"]),
            since: try row["since"],
            activity: activity.map { ActivityID(stored: $0) },
            isDone: try row["is_done"]
        )
    }
}

extension ChannelFinding {
    /// The finding of a decision before it is carried out; nil if the decision needs no finding.
    init?(_ decision: ChannelComparison.Decision) {
        switch decision {
        case .lose(let record, let replace):
            self.init(.lost, replace ? .replace : .record, record)
        case .settle(let record):
            self.init(.gone, .record, record)
        case .deleteAgain(let record):
            self.init(.undeleted, .delete, record)
        case .watch(let id, let firstSeen, let deleteAt):
            self.init(kind: .unknown, action: .keep, apnsChannelID: id, firstSeenAt: firstSeen, deleteAt: deleteAt)
        case .deleteUnknown(let id, let firstSeen):
            self.init(kind: .unknown, action: .delete, apnsChannelID: id, firstSeenAt: firstSeen)
        case .forget:
            return nil
        }
    }

    private init(_ kind: Kind, _ action: Action, _ record: ChannelComparison.Record) {
        self.init(
            kind: kind,
            action: action,
            apnsChannelID: record.apnsID,
            channelID: record.id,
            activityID: record.activity
        )
    }
}
