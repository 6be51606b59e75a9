import ActivityModel
import Cards
import DeliveryStore
import JSON
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import Store
import Synchronization

/// Looks after cards as time passes. It reports overdue update tokens, wakes the apps that should report them, hands
/// cards over to new ones, and lets go of cards whose 8 hours are over.
///
/// Decisions are made and stored under row locks, so any number of daemons may watch. Wake-ups are sent outside of
/// that, so that no card waits for the answer to another's. A lease puts off the next look at their cards, and the
/// outcome is stored with the answer (``AppWakes``).
struct CardWatcher: Service, CustomStringConvertible {
    let room: DeliveryRoom

    private static let interval = Duration.seconds(1)
    private static let batchSize = 2_000
    /// Activities whose apps are woken at the same time; the cards of others are looked at again a little later.
    static let wakesAtOnce = 32
    private static let crowding = Duration.seconds(5)
    /// Batches of old cards that are on their way at the same time.
    private static let oldCardsAtOnce = 4

    var description: String { "card-watcher" }

    func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                let underWay = Counted()
                let oldCards = Counted()
                for await _ in room.dueWork.signals(of: .cards) {
                    do {
                        var claimed = OldCards.batchSize
                        while claimed == OldCards.batchSize, oldCards.count < Self.oldCardsAtOnce {
                            let old = try await OldCards.claim(room)
                            if old.count > 0 { oldCards.add(to: &group) { await old.send() } }
                            claimed = old.count
                        }
                        var looked = Self.batchSize
                        while looked == Self.batchSize {
                            let look = try await look(mostWakes: Self.wakesAtOnce - underWay.count)
                            for wakes in look.wakes { underWay.add(to: &group) { await wakes.send() } }
                            looked = look.count
                        }
                    } catch {
                        room.logger.failed("cannot look after cards", error)
                    }
                    // They come one by one: what is due within a second is looked at together.
                    try? await Task.sleep(for: Self.interval)  // throws only when cancelled
                }
            }
        }
    }

    /// How many tasks are at something, or are about to be.
    final class Counted: Sendable {
        private let state = Mutex(0)

        var count: Int { state.withLock { $0 } }

        /// The task has its place from now on, and not only when it begins to run.
        func add(to group: inout DiscardingTaskGroup, _ body: @escaping @Sendable () async -> Void) {
            state.withLock { $0 += 1 }
            group.addTask {
                await body()
                self.state.withLock { $0 -= 1 }
            }
        }
    }

    /// The decisions for a batch of cards.
    private struct Decisions {
        /// The number of activities whose apps may be woken now.
        let mostWakes: Int
        /// How long a card that is to be woken is left to whoever wakes its app.
        let lease: Duration
        var checked: [WatchedCard.Checked] = []
        var overdue: [Event] = []
        var toWake: [AppWakes.Addressee: [WatchedCard]] = [:]
        var toHandOver: [CardKey] = []

        /// `prospect`: of a card that is old enough for a new card to continue it.
        mutating func decide(_ card: WatchedCard, _ prospect: ContinuationProspect?) {
            var watch = card.watch
            let actions = watch.actions(at: card.age, card.policy, canWake: card.deviceToken != nil)
            if actions.contains(.reportOverdue) {
                let waited = JSONValue.number(JSONNumber(card.age / 1_000_000))
                let subject = Event.Subject.activity(key: card.activityKey, deviceKey: card.deviceKey)
                overdue.append(Event(.tokenWaitOverdue, of: subject, ["waited_seconds": waited]))
            }
            let next: WatchedCard.Next?
            if actions.contains(.wake) {
                next = .after(wake(card) ? lease : CardWatcher.crowding)
            } else if actions.contains(.handOver) {
                next = handOver(card, prospect ?? .open)
            } else {
                next = watch.nextAge(after: card.age, card.policy).map { .atAge($0) }
            }
            checked.append(
                WatchedCard.Checked(
                    card: card,
                    watch: watch,
                    isExpired: actions.contains(.expire),
                    next: next
                )
            )
        }

        /// - Returns: When the card is looked at next: at its end, if nothing else brings another look before.
        private mutating func handOver(_ card: WatchedCard, _ prospect: ContinuationProspect) -> WatchedCard.Next {
            let hour: Int64 = 3_600_000_000
            let end = Int64(CardWatch.lifetimeSeconds) * 1_000_000
            let usual = Continuations.pause(after: card.age - Int64(card.policy.continueAfterHours ?? 0) * hour)
            let pause: Duration
            switch prospect {
            case .open:
                toHandOver.append(card.key)
                pause = usual
            case .resting(let time): pause = time
            case .underWay(let time): pause = max(usual, time + Continuations.shortestPause)
            case .never: return .atAge(end)
            }
            return .after(min(pause, .microseconds(end - card.age)))
        }

        /// - Returns: Whether there is room for it now.
        private mutating func wake(_ card: WatchedCard) -> Bool {
            let addressee = AppWakes.Addressee(card)
            guard toWake[addressee] != nil || toWake.count < mostWakes else { return false }
            toWake[addressee, default: []].append(card)
            return true
        }
    }

    /// Decides what is to be done with one batch of cards that are due, and stores it.
    ///
    /// - Returns: How many there were, and the wake-ups, which are claimed and still to be sent.
    func look(mostWakes: Int) async throws -> (count: Int, wakes: [AppWakes]) {
        let decisions = try await room.database.withTransaction { connection in
            var decisions = Decisions(mostWakes: mostWakes, lease: AppWakes.lease(room.settings))
            let due = try await WatchedCard.due(limit: Self.batchSize, on: connection)
            // A second statement: what was committed until the cards were locked is seen.
            let prospects = try await ContinuationProspect.read(due.filter(\.isToHandOver).map(\.key), on: connection)
            for card in due { decisions.decide(card, prospects[card.key]) }
            guard !decisions.checked.isEmpty else { return decisions }
            var statements = [WatchedCard.store(decisions.checked)]
            if !decisions.overdue.isEmpty { statements.append(EventRows.insertion(decisions.overdue)) }
            _ = try await connection.pipeline(statements)
            return decisions
        }
        // Locks starts before cards, so in a transaction of its own. If that fails, the next look begins it.
        if try await Continuations.begin(decisions.toHandOver, in: room.database) { room.wakeUps.signal() }
        if !decisions.overdue.isEmpty {
            Counter(label: "tally_token_waits_overdue_total").increment(by: decisions.overdue.count)
        }
        let wakes = decisions.toWake.map { AppWakes(room: room, addressee: $0, cards: $1) }
        return (decisions.checked.count, wakes.sorted { $0.addressee.activity.key < $1.addressee.activity.key })
    }
}
