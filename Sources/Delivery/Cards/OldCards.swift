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
    /// Until when the last of them must have left, as ``OrchestratorSettings/uptime``. So there is time left to store its
    /// answer before the claim ends.
    private let lastDeparture: Duration

    static let batchSize = 2_000
    /// Activities whose pushes leave at the same time.
    static let activitiesAtOnce = 32
    /// How long after the claim the last of them may leave.
    private static let time = Duration.seconds(5)
    /// How much longer than the wait for the last answer a claim is.
    private static let timeToStore = Duration.seconds(5)
    /// After this an end is tried again that cannot be sent now.
    private static let pause = Duration.seconds(30)

    /// Outcomes are stored together, so many cards at a time.
    private static let storedAtOnce = 100
    /// No outcome waits longer for others, so that one answer that does not come keeps no other card from being done.
    static let patience = Duration.seconds(1)

    /// The activity of old cards.
    private struct Activity: Sendable, Hashable {
        let names: ActivityNames
        /// The last stamp of the activity: no phone has seen a later one.
        let stamp: Timestamp

        var scope: HaltScope { HaltScope(app: names.app, environment: names.environment) }

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

    /// Whether ends may leave now.
    private enum Permit: Sendable {
        case granted(now: Int64, SigningIdentity)
        /// Sending is halted, or there is no signing key.
        case refused
    }

    /// What became of some cards.
    private struct Outcome: Sendable {
        var ended: [OldCard] = []
        /// Those that are tried again after a while.
        var again: [(card: OldCard, delay: Duration)] = []

        var count: Int { ended.count + again.count }

        mutating func add(_ other: Outcome) {
            ended += other.ended
            again += other.again
        }
    }

    /// Claims those that are due, up to ``batchSize``.
    static func claim(_ room: DeliveryRoom) async throws -> OldCards {
        let lease = room.settings.pushDeadline + time + timeToStore
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
    /// `most`: as ``activitiesAtOnce``; `patience`: as ``patience``.
    func send(atOnce most: Int = OldCards.activitiesAtOnce, patience: Duration = OldCards.patience) async {
        let permits = await permits()
        // A task without an outcome was the timer.
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await Self.wait(patience) }
            var rest = activities.makeIterator()
            var underWay = 0
            var outcome = Outcome()
            while true {
                while underWay < most, let (activity, cards) = rest.next() {
                    guard let permit = permits[activity.scope] else { continue }
                    underWay += 1
                    group.addTask { await send(activity, cards, permit) }
                }
                guard underWay > 0, let ended = await group.next() else { break }
                if let sent = ended {
                    underWay -= 1
                    outcome.add(sent)
                    outcome = await store(outcome, ifAtLeast: Self.storedAtOnce)
                } else {
                    outcome = await store(outcome, ifAtLeast: 1)
                    // Where the daemon stops, a timer would be over at once, again and again.
                    if !Task.isCancelled { group.addTask { await Self.wait(patience) } }
                }
            }
            group.cancelAll()
            _ = await store(outcome, ifAtLeast: 1)
        }
    }

    private static func wait(_ time: Duration) async -> Outcome? {
        try? await Task.sleep(for: time)  // throws only when cancelled
        return nil
    }

    /// For each app and environment; none where the database fails. They are asked for once: the last end leaves a few
    /// seconds later. A halt that this daemon learns of meanwhile counts, too.
    private func permits() async -> [HaltScope: Permit] {
        var permits: [HaltScope: Permit] = [:]
        for scope in Set(activities.map(\.activity.scope)) {
            do {
                let granted = try await room.mayPush(in: scope, else: "old cards are not ended")
                if let granted {
                    permits[scope] = .granted(now: granted.now, granted.identity)
                } else {
                    permits[scope] = .refused
                }
            } catch {
                room.logger.warning(
                    "old cards are not ended",
                    metadata: ["app": "\(scope.app)", "error": "\(error)"]
                )
            }
        }
        return permits
    }

    private func send(_ activity: Activity, _ cards: [OldCard], _ permit: Permit) async -> Outcome {
        var outcome = Outcome()
        // The cards of others have kept it waiting. They are claimed again when the claim is over.
        guard room.settings.uptime() < lastDeparture else { return outcome }
        guard case .granted(let now, let identity) = permit, !room.halts.isHalted(activity.scope) else {
            outcome.again = cards.map { ($0, Self.pause) }
            return outcome
        }
        do {
            let pass = try await pass(activity, cards, now, identity)
            let tokens = TokenBuffer(cards.map(\.token))
            let answers = await room.send(pass, to: .tokens(tokens, devices: cards.map(\.deviceKey)), slot: nil)
            // An end without an answer is sent again. A token that APNs does not take is left: nobody can end that card.
            let open = Set(answers.exceptions.filter { $0.outcome.class.consequence.isAgain }.map(\.index))
            outcome.ended = cards.indices.filter { !open.contains($0) }.map { cards[$0] }
            outcome.again = open.sorted().map { place in
                (cards[place], room.settings.backoff.delay(afterFailures: cards[place].failures + 1))
            }
        } catch {
            room.logger.warning(
                "old cards are not ended",
                metadata: ["activity.key": "\(activity.names.key)", "error": "\(error)"]
            )
        }
        return outcome
    }

    /// Stores outcomes if they are enough.
    ///
    /// - Returns: What is still to be stored.
    private func store(_ outcome: Outcome, ifAtLeast least: Int) async -> Outcome {
        guard outcome.count >= least else { return outcome }
        // Each statement in a transaction of its own, and in the order of the keys: reports lock these cards, too.
        let ended = outcome.ended.sorted { $0.key < $1.key }
        let again = outcome.again.sorted { $0.card.key < $1.card.key }
        do {
            if !ended.isEmpty { try await room.settle([.planningOnce, OldCard.ended(ended)]) }
            if !again.isEmpty {
                try await room.settle([.planningOnce, OldCard.again(again.map(\.card), again.map(\.delay))])
            }
        } catch {
            room.logger.warning("ends of old cards are not stored", metadata: ["error": "\(error)"])
        }
        return Outcome()
    }

    private func pass(
        _ activity: Activity,
        _ cards: [OldCard],
        _ now: Int64,
        _ identity: SigningIdentity
    ) async throws -> Pass {
        let names = activity.names
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
}
