import APNSTransport
import ActivityModel
import Cards
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
    /// Until when the last of them must have left, as ``OrchestratorSettings/uptime``: its answer is stored before the
    /// claim ends.
    private let lastDeparture: Duration

    static let batchSize = 2_000
    /// Activities whose pushes leave at the same time.
    static let activitiesAtOnce = 32
    /// How long after the claim the last of them may leave.
    private static let time = Duration.seconds(5)
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

    /// Claims those that are due, up to ``batchSize``.
    static func claim(_ room: DeliveryRoom) async throws -> OldCards {
        let lease = room.settings.pushDeadline + time
        let lastDeparture = room.settings.uptime() + time
        let rows = try await room.database.query(OldCard.claim(limit: batchSize, for: lease))
        var found: [(Activity, OldCard)] = []
        for row in rows {
            guard let card = try OldCard(row) else { continue }
            found.append((try Activity(row), card))
        }
        let groups = Dictionary(grouping: found) { $0.0 }
            .map { (activity: $0.key, cards: $0.value.map(\.1)) }
            .sorted { $0.activity.names.key < $1.activity.names.key }
        return OldCards(room: room, activities: groups, count: found.count, lastDeparture: lastDeparture)
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
        // The cards of others have kept it waiting. They are claimed again when the claim is over.
        guard room.settings.uptime() < lastDeparture else { return }
        do {
            guard let pass = try await pass(activity, cards) else {
                let pauses = cards.map { _ in Self.pause }
                return try await room.settle([OldCard.again(cards, of: activity.names.key, pauses)])
            }
            let tokens = TokenBuffer(cards.map(\.token))
            let answers = await room.send(pass, to: .tokens(tokens, devices: cards.map(\.deviceKey)), slot: nil)
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
        return (ended.isEmpty ? [] : [OldCard.ended(ended, of: activity.names.key)])
            + (again.isEmpty ? [] : [OldCard.again(again, of: activity.names.key, delays)])
    }
}
