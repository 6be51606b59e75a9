import APITypes
import Logging
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

@testable import Intake

@Suite("Work in groups", .timeLimit(.minutes(1)))
struct GroupedWorkTests {
    /// Each group takes a quarter of a second by this clock.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance() { time.withLock { $0 += .milliseconds(250) } }
    }

    @Test(
        "What waits is told with the time that it will take by the pace of the last groups; who comes then may be refused"
    )
    func backlog() async {
        let clock = Clock()
        let (reached, reachedContinuation) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let work = GroupedWork<Int, Int, Int>(
            "counting",
            .init(groupSize: 2, lanes: 1, worthALane: 1, takesWholeLines: true),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            now: { clock.now }
        ) { numbers, _ in
            if numbers.contains(9) {
                reachedContinuation.finish()
                for await _ in released {}
            }
            clock.advance()
            return numbers.map { .success($0) }
        }
        let running = Task { await work.run() }
        let first = Task { await work.submit((1...18).map { ($0, $0) }) }
        for await _ in reached {}
        // Four groups of two are done, the last two of them in half a second, and the fifth is under way.
        let backlog = work.backlog
        #expect(backlog == Backlog(count: 8, wait: .seconds(1)))
        let late = await work.submit([(99, 99)]) { _, backlog throws(Problem) in
            #expect(backlog.wait == .seconds(1))
            throw .tooManyRequests(retryAfter: 1)
        }
        #expect(throws: Problem.tooManyRequests(retryAfter: 1)) { try late[0].get() }
        release.finish()
        let answers = await first.value
        let numbers = answers.compactMap { try? $0.get() }  // nil is missed below
        #expect(numbers == Array(1...18))
        #expect(work.backlog == Backlog(count: 0, wait: nil))
        running.cancel()
        await running.value
    }

    @Test("What meets a unique key is carried out once more, alone or in a group, and not for ever", arguments: [1, 2])
    func uniqueKey(count: Int) async {
        let calls = Mutex<[Int: Int]>([:])
        let work = GroupedWork<Int, Int, Int>(
            "counting",
            .init(groupSize: 2, lanes: 1, worthALane: 1, takesWholeLines: true),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { numbers, _ in
            let times = calls.withLock { calls in
                for number in numbers { calls[number, default: 0] += 1 }
                return numbers.map { calls[$0] ?? 0 }
            }
            // 9 never succeeds.
            if numbers.contains(9) || times.contains(1) {
                throw PostgresError(.server, message: "duplicate key", sqlState: "23505")
            }
            return numbers.map { .success($0) }
        }
        let running = Task { await work.run() }
        let answers = await work.submit((1...count).map { ($0, $0) })
        let numbers = answers.compactMap { try? $0.get() }  // nil is missed below
        #expect(numbers == Array(1...count))
        let refused = await work.submit([(9, 9)])
        #expect(throws: PostgresError.self) { try refused[0].get() }
        #expect(calls.withLock { $0[9] } == 2)
        running.cancel()
        await running.value
    }

    /// Carries out the numbers up to `count` in one group, which `fail` may refuse with the state of an error.
    private func carryOut(
        upTo count: Int,
        failing fail: @escaping @Sendable (_ numbers: [Int], _ call: Int) -> String?
    ) async -> (answers: [Result<Int, any Error>], calls: Int) {
        let calls = Mutex(0)
        let work = GroupedWork<Int, Int, Int>(
            "counting",
            .init(groupSize: count, lanes: 1, worthALane: 1, takesWholeLines: true),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { numbers, _ in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if let state = fail(numbers, call) { throw PostgresError(.server, message: "refused", sqlState: state) }
            return numbers.map { .success($0) }
        }
        let running = Task { await work.run() }
        let answers = await work.submit((1...count).map { ($0, $0) })
        running.cancel()
        await running.value
        return (answers, calls.withLock { $0 })
    }

    @Test(
        "Where it is the server that fails, all of a group are told at once",
        arguments: ["53100", "25006", "57P01", "58030", "08006"]
    )
    func ofServer(state: String) async {
        let (answers, calls) = await carryOut(upTo: 100) { _, _ in state }
        #expect(answers.count == 100)
        for answer in answers {
            let error = #expect(throws: PostgresError.self) { try answer.get() }
            #expect(error?.sqlState == state)
        }
        #expect(calls == 1)
    }

    @Test("A group that was in a deadlock is carried out again as it is")
    func deadlock() async {
        let (answers, calls) = await carryOut(upTo: 100) { _, call in call == 1 ? "40P01" : nil }
        #expect(answers.compactMap { try? $0.get() } == Array(1...100))  // nil is missed
        #expect(calls == 2)
    }

    @Test("A group that stays in a deadlock is given up as it is: its halves would meet the same others")
    func lastingDeadlock() async {
        let (answers, calls) = await carryOut(upTo: 100) { _, _ in "40P01" }
        #expect(answers.count == 100)
        for answer in answers { #expect(throws: PostgresError.self) { try answer.get() } }
        #expect(calls == 2)
    }

    @Test("What the server refuses of a group is found by halves, and the others are carried out")
    func halves() async {
        let (answers, calls) = await carryOut(upTo: 256) { numbers, _ in numbers.contains(77) ? "22P05" : nil }
        #expect(answers.compactMap { try? $0.get() } == (1...256).filter { $0 != 77 })  // nil is missed
        #expect(throws: PostgresError.self) { try answers[76].get() }
        // The whole, and two halves at each of eight steps.
        #expect(calls == 17)
    }

    @Test(
        "Two parts wait apart, also if three find at the same moment that they have to: the third, alone, waits in its lane"
    )
    func twoApart() async {
        let (entering, waiting, working) = (Gate(), Gate(), Gate())
        // 10 and more are locked.
        let work = GroupedWork<Int, Int, Int>(
            "counting",
            .init(groupSize: 2, lanes: 3, worthALane: 1, takesWholeLines: true),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { numbers, isPatient in
            let isLocked = numbers.contains { $0 >= 10 }
            if isLocked, !isPatient {
                await entering.pass()
                return numbers.map { $0 >= 10 ? .failure(StillLocked()) : .success($0) }
            }
            await (isLocked ? waiting : working).pass()
            return numbers.map { .success($0) }
        }
        let running = Task { await work.run() }
        // Three groups of two, none of which knows of the others. One of each two is locked.
        let first = [10, 1, 11, 2, 12, 3]
        let locked = Task { await work.submit(first.map { ($0, $0) }) }
        await entering.arrivals(3)
        entering.open()
        await waiting.arrivals(3)
        // Among them are the next of the lines that have just been answered.
        let others = Task { await work.submit((0...9).map { ($0, $0) }) }
        await working.arrivals(2)
        // Two of three lanes are free for them.
        #expect(work.backlog.count == 6)
        working.open()
        let early = await others.value
        #expect(early.compactMap { try? $0.get() } == Array(0...9))  // nil is missed
        waiting.open()
        let answers = await locked.value
        #expect(answers.compactMap { try? $0.get() } == first)  // nil is missed
        running.cancel()
        await running.value
    }

    @Test("What has to wait for somebody else does so apart: the others of its group, and the next groups, go on")
    func apart() async {
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let carriedOut = Mutex<[Int]>([])
        // 10 and more are locked.
        let work = GroupedWork<Int, Int, Int>(
            "counting",
            .init(groupSize: 4, lanes: 1, worthALane: 1, takesWholeLines: true),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { numbers, isPatient in
            if isPatient, numbers.contains(where: { $0 >= 10 }) {
                for await _ in released {}
            }
            return numbers.map { number in
                guard number < 10 || isPatient else { return .failure(StillLocked()) }
                carriedOut.withLock { $0.append(number) }
                return .success(number)
            }
        }
        let running = Task { await work.run() }
        let locked = Task { await work.submit([(10, 10), (10, 11)]) }
        // They come in the same group or in a later one; in neither they wait for what is locked.
        for number in 1...3 {
            let answers = await work.submit([(number, number)])
            #expect(throws: Never.self) { try answers[0].get() }
        }
        let behind = Task { await work.submit([(10, 12)]) }
        _ = await work.submit([(4, 4)])
        #expect(carriedOut.withLock { $0 } == [1, 2, 3, 4])
        release.finish()
        let answers = await locked.value + behind.value
        #expect(answers.compactMap { try? $0.get() } == [10, 11, 12])  // nil is missed
        #expect(carriedOut.withLock { $0.suffix(3) } == [10, 11, 12])
        running.cancel()
        await running.value
    }
}
