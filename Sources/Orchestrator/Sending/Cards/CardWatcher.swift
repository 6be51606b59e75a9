import ActivityModel
import JSON
import Logging
import Metrics
import Postgres
import ServiceLifecycle

/// Looks after cards as time passes: reports update tokens that do not come, wakes the apps that should report them, and
/// lets go of cards whose 8 hours are over.
///
/// What is due is decided and stored under row locks, so any number of daemons may watch. A wake-up is stored before it
/// leaves; one that certainly did not leave is tried again.
struct CardWatcher: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(1)
    private static let batchSize = 2_000

    var description: String { "card-watcher" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    while try await watch() == Self.batchSize {}
                } catch {
                    orchestrator.logger.warning("cannot look after cards", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)  // throws only when cancelled
            }
        }
    }

    /// What was decided about a batch of cards.
    private struct Decisions {
        var checked: [WatchedCard.Checked] = []
        var overdue: [Event] = []
        var toWake: [WatchedCard] = []

        mutating func decide(_ card: WatchedCard) {
            var watch = card.watch
            let actions = watch.actions(at: card.age, card.policy, canWake: card.deviceToken != nil)
            if actions.contains(.wake) { toWake.append(card) }
            if actions.contains(.reportOverdue) {
                let waited = JSONValue.number(JSONNumber(card.age / 1_000_000))
                let subject = Event.Subject.activity(key: card.activityKey, deviceKey: card.deviceKey)
                overdue.append(Event(.tokenWaitOverdue, of: subject, ["waited_seconds": waited]))
            }
            checked.append(
                WatchedCard.Checked(
                    card: card,
                    watch: watch,
                    isExpired: actions.contains(.expire),
                    nextAge: watch.nextAge(after: card.age, card.policy)
                )
            )
        }
    }

    /// Looks after one batch of cards that are due.
    ///
    /// - Returns: How many there were.
    func watch() async throws -> Int {
        let decisions = try await orchestrator.database.withTransaction { connection in
            var decisions = Decisions()
            for card in try await WatchedCard.due(limit: Self.batchSize, on: connection) { decisions.decide(card) }
            guard !decisions.checked.isEmpty else { return decisions }
            var statements = [WatchedCard.store(decisions.checked)]
            if !decisions.overdue.isEmpty { statements.append(EventRows.insertion(decisions.overdue)) }
            _ = try await connection.pipeline(statements)
            return decisions
        }
        if !decisions.overdue.isEmpty {
            Counter(label: "tally_token_waits_overdue_total").increment(by: decisions.overdue.count)
        }
        if !decisions.toWake.isEmpty {
            try await AppWakes(orchestrator: orchestrator).send(to: decisions.toWake)
        }
        return decisions.checked.count
    }
}
