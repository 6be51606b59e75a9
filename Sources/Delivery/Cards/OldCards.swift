import APNSTransport
import ActivityModel
import DeliveryStore
import Logging
import Postgres
import Store
import Waiting

/// Ends the cards that new cards have taken the place of, with the end's `dismissal-date` in the past.
///
/// A card is claimed by moving its row on by a lease. If this daemon dies, another one sends the end, perhaps a second
/// time, which is no harm. It is sent whatever becomes of the activity, until the card's 8 hours are over.
struct OldCards: Sendable {
    private let room: DeliveryRoom
    private let activities: [(activity: Activity, cards: [OldCard])]
    /// How many there are.
    let count: Int

    static let batchSize = 2_000
    /// Activities whose pushes leave at the same time.
    static let activitiesAtOnce = 32
    /// After this an end is tried again that cannot be sent now.
    private static let pause = Duration.seconds(30)

    /// The activity of old cards.
    private struct Activity: Sendable, Hashable {
        let names: ActivityNames
        /// The last stamp of the activity: no phone has seen a later one.
        let stamp: Timestamp

        init(_ row: Row) throws {
            names = ActivityNames(
                key: try row["activity_key"],
                app: BundleID(stored: try row["bundle_id"]),
                environment: try .stored(row["environment"]),
                id: ActivityID(stored: try row["activity_id"])
            )
            stamp = try row["stamp"]
        }
    }

    private struct OldCard: Sendable {
        let deviceKey: Int64
        let activityKitID: String
        let token: PushToken
        let failures: Int

        /// A CHECK keeps the token's length within the bounds that make this nil.
        init?(_ row: Row) throws {
            guard let token = PushToken(bytes: try row["update_token"]) else { return nil }
            self.token = token
            deviceKey = try row["device_key"]
            activityKitID = try row["activitykit_id"]
            failures = try row["failures"]
        }
    }

    /// Claims those that are due, up to ``batchSize``.
    static func claim(_ room: DeliveryRoom) async throws -> OldCards {
        let lease = room.settings.pushDeadline + .seconds(5)
        let rows = try await room.database.query(
            """
            WITH due AS MATERIALIZED (
                SELECT activity_key, device_key, activitykit_id FROM continuations
                WHERE due_at <= now() ORDER BY due_at LIMIT \(batchSize) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE continuations AS k SET due_at = clock_timestamp() + \(lease)
            FROM due JOIN activities AS a USING (activity_key)
            WHERE k.activity_key = due.activity_key AND k.device_key = due.device_key
              AND k.activitykit_id = due.activitykit_id
            RETURNING k.activity_key, a.bundle_id, a.environment::text, a.activity_id, a.stamp, k.device_key,
                k.activitykit_id, k.update_token, k.failures
            """
        )
        var found: [(Activity, OldCard)] = []
        for row in rows {
            guard let card = try OldCard(row) else { continue }
            found.append((try Activity(row), card))
        }
        let groups = Dictionary(grouping: found) { $0.0 }
            .map { (activity: $0.key, cards: $0.value.map(\.1)) }
            .sorted { $0.activity.names.key < $1.activity.names.key }
        return OldCards(room: room, activities: groups, count: found.count)
    }

    /// Sends the ends, and stores the outcomes. If the database fails, another try follows when the claim expires.
    /// `most`: as ``activitiesAtOnce``.
    func send(atOnce most: Int = OldCards.activitiesAtOnce) async {
        await withTaskGroup(of: Void.self) { group in
            for (place, (activity, cards)) in activities.enumerated() {
                if place >= most { await group.next() }
                group.addTask { await send(activity, cards) }
            }
        }
    }

    private func send(_ activity: Activity, _ cards: [OldCard]) async {
        do {
            guard let pass = try await pass(activity, cards) else {
                return try await room.settle([Self.again(cards, of: activity, cards.map { _ in Self.pause })])
            }
            let tokens = TokenBuffer(cards.map(\.token))
            let answers = await room.send(pass, to: tokens, of: cards.map(\.deviceKey), slot: nil)
            for statement in settlement(activity, cards, answers) { try await room.settle([statement]) }
        } catch {
            room.logger.warning(
                "old cards are not ended",
                metadata: ["activity.key": "\(activity.names.key)", "error": "\(error)"]
            )
        }
    }

    /// - Returns: Nil where nothing may be sent now: sending is halted, or there is no signing key.
    private func pass(_ activity: Activity, _ cards: [OldCard]) async throws -> Pass? {
        let names = activity.names
        guard let (now, identity) = try await room.mayPush(names, else: "old cards are not ended") else {
            return nil
        }
        return Pass(
            of: .continued,
            in: names,
            identity,
            PushHeaders(
                bundleID: names.app,
                priority: PriorityRule.end.priority,
                // After that, the system has ended the card.
                expiration: now + Int64(CardWatch.lifetimeSeconds)
            ),
            // The new card shows the state; the old one is gone at once.
            LiveActivityBody.end(
                contentState: nil,
                alert: nil,
                dismissal: .after(seconds: 0),
                timestamp: max(now, activity.stamp + 1)
            ),
            detail: try await room.timeline.detail(of: names.key, count: cards.count)
        )
    }

    /// An end without an answer is sent again. A token that APNs does not take is left: nobody can end that card.
    private func settlement(_ activity: Activity, _ cards: [OldCard], _ answers: BatchOutcome) -> [Query] {
        let open = Set(answers.exceptions.filter { $0.outcome.class.consequence.isAgain }.map(\.index))
        let ended = cards.indices.filter { !open.contains($0) }.map { cards[$0] }
        let again = open.sorted().map { cards[$0] }
        let delays = again.map { room.settings.backoff.delay(afterFailures: $0.failures + 1) }
        return (ended.isEmpty ? [] : [Self.ended(ended, of: activity)])
            + (again.isEmpty ? [] : [Self.again(again, of: activity, delays)])
    }

    /// A token that was reported meanwhile is still to be sent the end.
    private static func ended(_ cards: [OldCard], of activity: Activity) -> Query {
        """
        UPDATE continuations AS k SET due_at = NULL, update_token = NULL
        FROM unnest(\(cards.map(\.deviceKey)), \(cards.map(\.activityKitID)), \(cards.map(\.token.bytes)))
            AS r(device_key, activitykit_id, update_token)
        WHERE k.activity_key = \(activity.names.key) AND k.device_key = r.device_key
          AND k.activitykit_id = r.activitykit_id AND k.update_token = r.update_token
        """
    }

    private static func again(_ cards: [OldCard], of activity: Activity, _ delays: [Duration]) -> Query {
        """
        UPDATE continuations AS k
        SET due_at = CASE WHEN k.started_at > v.last THEN clock_timestamp() + r.delay END,
            update_token = CASE WHEN k.started_at > v.last THEN k.update_token END,
            failures = least(k.failures + 1, 1000)
        FROM unnest(\(cards.map(\.deviceKey)), \(cards.map(\.activityKitID)), \(delays))
            AS r(device_key, activitykit_id, delay)
        CROSS JOIN (SELECT clock_timestamp() - \(Duration.seconds(CardWatch.lifetimeSeconds)) AS last) AS v
        WHERE k.activity_key = \(activity.names.key) AND k.device_key = r.device_key
          AND k.activitykit_id = r.activitykit_id
        """
    }
}
