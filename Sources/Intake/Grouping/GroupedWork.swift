import APITypes
import Logging
import Postgres
import ServiceLifecycle
import Store
import Synchronization

/// Carries out requests in groups: requests that arrive while groups are under way form the next group.
///
/// A part of a group may have to wait for a lock of another transaction. That part waits separately, and the others
/// continue.
///
/// So requests share the cost of a round trip and of a durable commit. A caller gets the answer when the group that
/// held the request is done.
final class GroupedWork<Line: Hashable & Sendable, Request: Sendable, Answer: Sendable>: Sendable {
    typealias Answers = [Result<Answer, any Error>]
    typealias Queue = GroupQueue<Line, Waiting>

    struct Waiting: Sendable {
        let request: Request
        /// The caller that gets the answer, at `place` among its answers.
        let caller: Caller
        let place: Int
    }

    /// Answers requests, one answer for each in their order. If it is not patient, it does not wait for locks: it
    /// answers the requests that need one with ``StillLocked``, and so all later ones of their lines.
    typealias CarryOut = @Sendable (_ requests: [Request], _ isPatient: Bool) async throws -> Answers

    /// The most parts of groups that wait for locks outside the lanes. Further groups wait in their lanes, because each
    /// part has a connection.
    private static var mostApart: Int { 2 }

    private struct State {
        var queue: Queue
        var pace = GroupPace()
        var isClosed = false
        /// Parts of groups that wait for locks, outside the lanes.
        var apart = 0

        func backlog(now: ContinuousClock.Instant) -> Backlog {
            Backlog(count: queue.count, wait: queue.isLong ? pace.wait(behind: queue.count, now: now) : nil)
        }
    }

    private let name: String
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let carryOut: CarryOut
    private let state: Mutex<State>
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - name: what the requests are, for the log.
    ///   - rules: how groups are made up.
    ///   - logger: gets the groups that fail.
    ///   - now: the clock.
    ///   - carryOut: answers a group. If the server refuses one of its requests, the others are carried out without it.
    ///     Any other error is the answer to all.
    init(
        _ name: String,
        _ rules: Queue.Rules,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        carryOut: @escaping CarryOut
    ) {
        self.name = name
        self.logger = logger
        self.now = now
        self.carryOut = carryOut
        state = Mutex(State(queue: Queue(rules)))
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The requests that wait to be carried out, at this moment.
    var backlog: Backlog {
        let now = now()
        return state.withLock { $0.backlog(now: now) }
    }

    /// Returns when all are carried out. Requests of one line keep their order.
    ///
    /// - `admit`: decides for each of them, by the backlog at that moment, whether it may wait, too. An error that it
    ///   throws is the answer. Nobody else comes in between.
    /// - `isUrgent`: whether a request goes before those that are not, with all that waits before it in its line.
    /// - Returns: One answer for each request; 503 while the daemon is stopping.
    func submit(
        _ requests: [(line: Line, request: Request)],
        admitting admit: (_ request: Request, _ backlog: Backlog) throws(Problem) -> Void = { _, _ in },
        isUrgent: (_ request: Request) -> Bool = { _ in false }
    ) async -> Answers {
        guard !requests.isEmpty else { return [] }
        return await withCheckedContinuation { continuation in
            let caller = Caller(count: requests.count, continuation)
            let now = now()
            let taken = state.withLock { state -> (refused: [(place: Int, problem: Problem)], isDue: Bool)? in
                guard !state.isClosed else { return nil }
                var refused: [(place: Int, problem: Problem)] = []
                for (place, (line, request)) in requests.enumerated() {
                    do throws(Problem) {
                        try admit(request, state.backlog(now: now))
                        let waiting = Waiting(request: request, caller: caller, place: place)
                        state.queue.add(waiting, to: line, isUrgent: isUrgent(request))
                    } catch {
                        refused.append((place, error))
                    }
                }
                return (refused, state.queue.hasNext)
            }
            if let (refused, isDue) = taken {
                // While all lanes are busy, the first to be done takes what waits.
                if isDue { arrived.yield() }
                for (place, problem) in refused { caller.take(.failure(problem), at: place) }
            } else {
                let stopping = Problem.unavailable("The daemon is stopping.")
                continuation.resume(returning: requests.map { _ in .failure(stopping) })
            }
        }
    }

    /// Works until the graceful shutdown, then on what is still there; from then on nothing is taken.
    func run() async {
        await withDiscardingTaskGroup { lanes in
            for await _ in arrivals.cancelOnGracefulShutdown() { begin(in: &lanes) }
            state.withLock { $0.isClosed = true }
            begin(in: &lanes)
        }
    }

    private func begin(in lanes: inout DiscardingTaskGroup) {
        while let group = state.withLock({ $0.queue.next() }) {
            lanes.addTask { await self.work(from: group) }
        }
    }

    /// Carries out this group and then the next ones, as long as there are any.
    private func work(from first: Queue.Group) async {
        await withDiscardingTaskGroup { apart in
            var next: Queue.Group? = first
            while let group = next {
                let isPatient = state.withLock { $0.apart >= Self.mostApart }
                let answers = await answers(to: group.elements.map(\.request), isPatient: isPatient)
                let rest = isPatient ? nil : group.part(at: Self.locked(answers))
                if let part = rest, !takePlaceApart() {
                    // Others have come first. So this part waits in the lane, and only this one: the other lines go on.
                    stall(group, at: part)
                    tell(answers, to: group, butLocked: true)
                    let late = await self.answers(to: part.elements.map(\.request), isPatient: true)
                    next = finish(part, but: nil, wasStalled: true)
                    tell(late, to: part, butLocked: false)
                    continue
                }
                next = finish(group, but: rest)
                tell(answers, to: group, butLocked: !isPatient)
                if let rest { apart.addTask { await self.wait(for: rest) } }
            }
        }
    }

    /// Whether another part may wait outside the lanes. It has its place then.
    private func takePlaceApart() -> Bool {
        state.withLock { state in
            guard state.apart < Self.mostApart else { return false }
            state.apart += 1
            return true
        }
    }

    /// A group was carried out, but for a part that waits in its lane.
    private func stall(_ group: Queue.Group, at part: Queue.Group) {
        let now = now()
        let isDue = state.withLock { state in
            state.queue.stalled(group, at: part)
            let count = group.elements.count - part.elements.count
            state.pace.finished(count, leavesMore: state.queue.leavesMore, now: now)
            return state.queue.hasNext
        }
        // The lines that are free may have more. This lane takes nothing for now.
        if isDue { arrived.yield() }
    }

    /// A group was carried out, but for a part that waits apart.
    ///
    /// - `wasStalled`: it is the part for which ``stall(_:at:)`` was called.
    /// - Returns: The next group, if one may be begun.
    private func finish(_ group: Queue.Group, but rest: Queue.Group?, wasStalled: Bool = false) -> Queue.Group? {
        let now = now()
        let (next, isDue) = state.withLock { state in
            if wasStalled {
                state.queue.caughtUpInLane(group)
            } else {
                state.queue.finished(group, but: rest)
            }
            let next = state.queue.next()
            state.pace.finished(group.elements.count, leavesMore: state.queue.leavesMore, now: now)
            return (next, state.queue.hasNext)
        }
        // There is enough for another lane.
        if isDue { arrived.yield() }
        return next
    }

    /// Carries out a part that has to wait for locks, and then the next groups.
    private func wait(for part: Queue.Group) async {
        let answers = await answers(to: part.elements.map(\.request), isPatient: true)
        let next = state.withLock { state in
            state.queue.caughtUp(part)
            state.apart -= 1
            return state.queue.next()
        }
        tell(answers, to: part, butLocked: false)
        if let next { await work(from: next) }
    }

    /// The places of requests that have to wait for a lock.
    private static func locked(_ answers: Answers) -> [Int] {
        answers.indices.filter { if case .failure(is StillLocked) = answers[$0] { true } else { false } }
    }

    /// Answers the requests. `butLocked`: except those that still wait for a lock.
    private func tell(_ answers: Answers, to group: Queue.Group, butLocked: Bool) {
        let locked = butLocked ? Set(Self.locked(answers)) : []
        for (place, waiting) in group.elements.enumerated() where !locked.contains(place) {
            waiting.caller.take(answers[place], at: waiting.place)
        }
    }

    /// `isRepeat`: these requests met somebody else, and are tried once more.
    private func answers(to requests: [Request], isPatient: Bool, isRepeat: Bool = false) async -> Answers {
        do {
            return try await carryOut(requests, isPatient)
        } catch let error as PostgresError where !isRepeat && Self.metAnother.contains(error.sqlState ?? "") {
            return await answers(to: requests, isPatient: isPatient, isRepeat: true)
        } catch let error as PostgresError where requests.count > 1 && Self.isOfOne(error) {
            // The server refuses one of them, and does not say which. So the others are found by halves. One half after the
            // other, so that those of a line keep their order.
            let middle = requests.count / 2
            let first = await answers(to: Array(requests[..<middle]), isPatient: true)
            return first + (await answers(to: Array(requests[middle...]), isPatient: true))
        } catch {
            logger.error("\(name) failed", metadata: ["error": "\(error)", "count": "\(requests.count)"])
            return requests.map { _ in .failure(error) }
        }
    }

    /// Another transaction was faster. A deadlock: it goes on by now. A unique key: it has stored the same, an idempotency
    /// key for one, which can be seen by now.
    private static var metAnother: Set<String> { ["40P01", "23505"] }

    /// Whether the server may have refused a single one of some requests. It does not if it is the server that fails,
    /// or the connection. Then it would fail all the same, one by one, when it can do that least.
    private static func isOfOne(_ error: PostgresError) -> Bool {
        // The classes: connection, transaction (read-only), rollback (a deadlock, in spite of a repeat: its halves would meet
        // the same others), resources (disk full), state, operator (shutdown), system.
        error.code == .server && !["08", "25", "40", "53", "55", "57", "58"].contains(error.sqlState?.prefix(2) ?? "")
    }

    /// A caller that waits for a number of answers.
    final class Caller: Sendable {
        private struct State {
            var answers: [Result<Answer, any Error>?]
            var missing: Int
        }

        private let state: Mutex<State>
        private let continuation: CheckedContinuation<Answers, Never>

        fileprivate init(count: Int, _ continuation: CheckedContinuation<Answers, Never>) {
            state = Mutex(State(answers: Array(repeating: nil, count: count), missing: count))
            self.continuation = continuation
        }

        fileprivate func take(_ answer: Result<Answer, any Error>, at place: Int) {
            let all = state.withLock { state -> Answers? in
                state.answers[place] = answer
                state.missing -= 1
                return state.missing == 0 ? state.answers.compactMap { $0 } : nil
            }
            if let all { continuation.resume(returning: all) }
        }
    }
}
