import Postgres
import Synchronization

/// Where the daemons of a simulation act, one at a time: a task that wants to go to the database between two
/// transactions waits here until it is its turn.
///
/// Whoever drives the simulation chooses whose turn it is, so one seed is one order of events. What runs in a
/// transaction is not stopped: it holds locks that others would wait for.
final class Stage: Sendable {
    /// A task of a daemon that works step by step.
    struct Actor: Hashable, Sendable, CustomStringConvertible {
        let daemon: String
        let number: Int

        var description: String { "\(daemon)#\(number)" }
    }

    /// Who the current task works for; nil for one that is not stopped.
    @TaskLocal static var actor: Actor?
    /// The task that is stopped. Those that it has begun are not: it waits for them, and would never come to its turn.
    @TaskLocal private static var stopped: Int?

    fileprivate struct State {
        /// Those that wait, in the order of their coming.
        var waiting: [(actor: Actor, continuation: CheckedContinuation<Void, Never>)] = []
        /// Those that have neither ended nor wait.
        var running: Set<Actor> = []
        var director: CheckedContinuation<Void, Never>?
        /// How often each turn has gone to the database, by its number.
        var steps: [Int: Int] = [:]
    }

    /// A turn takes a hundred steps, and some thousand with a large crowd. One that takes so many would never end, because
    /// no time passes meanwhile.
    private static let mostSteps = 10_000

    private let state = Mutex(State())

    /// Those that wait for their turn.
    var waiting: [Actor] { state.withLock { $0.waiting.map(\.actor) } }

    /// Begins a task, and returns when it waits for its next turn or has ended.
    func begin(_ actor: Actor, _ body: @escaping @Sendable () async -> Void) async {
        state.withLock { _ = $0.running.insert(actor) }
        Task {
            await Self.$actor.withValue(actor) {
                await Self.$stopped.withValue(Self.currentTask) { await body() }
            }
            ended(actor)
        }
        await calm()
    }

    /// Lets the one that came first of an actor's waiting tasks go on, and returns when it waits again or has ended.
    func goOn(_ actor: Actor) async {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let index = state.waiting.firstIndex(where: { $0.actor == actor }) else { return nil }
            state.running.insert(actor)
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume()
        await calm()
    }

    /// Waits for the next turn.
    func wait() async {
        guard let actor = Self.actor, Self.stopped == Self.currentTask else { return }
        await withCheckedContinuation { continuation in
            let director = state.withLock { state in
                state.waiting.append((actor, continuation))
                state.running.remove(actor)
                return state.directorIfCalm()
            }
            director?.resume()
        }
    }

    /// Whether the current task is one of those that act in a fixed order: an actor's own, or the director's.
    static var isInOrder: Bool { actor == nil || stopped == currentTask }

    /// Takes note that the current turn goes to the database; false if it has gone there so often that it would go on
    /// for ever.
    func takesStep() -> Bool {
        guard Turn.current.number > 0 else { return true }
        return state.withLock { state in
            state.steps[Turn.current.number, default: 0] += 1
            return state.steps[Turn.current.number, default: 0] <= Self.mostSteps
        }
    }

    /// Whether a turn had to be ended because it would have gone on for ever.
    var hasEndlessTurn: Bool { state.withLock { $0.steps.values.contains { $0 > Self.mostSteps } } }

    /// A number that no other task has while this one lives.
    private static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }

    private func ended(_ actor: Actor) {
        let director = state.withLock { state in
            state.running.remove(actor)
            return state.directorIfCalm()
        }
        director?.resume()
    }

    private func calm() async {
        await withCheckedContinuation { continuation in
            let isCalm = state.withLock { state in
                if !state.running.isEmpty { state.director = continuation }
                return state.running.isEmpty
            }
            if isCalm { continuation.resume() }
        }
    }
}

extension Stage.State {
    fileprivate mutating func directorIfCalm() -> CheckedContinuation<Void, Never>? {
        guard running.isEmpty else { return nil }
        return director.take()
    }
}
