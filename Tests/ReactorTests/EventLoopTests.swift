import Testing

@testable import Reactor

@Suite("The event loop", .timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test("work from many tasks runs on the loop's thread, each task's in its order")
    func execute() async throws {
        let loop = try EventLoop(name: "test")
        let seen = Log<(task: Int, number: Int)>()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        loop.execute {
                            loop.preconditionOnLoop()
                            seen.add((task, number))
                        }
                    }
                }
            }
        }
        await loop.shutDown()
        for task in 0..<8 {
            #expect(seen.all.filter { $0.task == task }.map(\.number) == Array(0..<500))
        }
    }

    @Test("work that is handed over on the loop runs later, not inside the call")
    func later() async throws {
        let loop = try EventLoop(name: "test")
        let order = Log<Int>()
        try await loop.perform {
            loop.execute { order.add(2) }
            order.add(1)
        }
        _ = try await loop.perform { 0 }
        #expect(order.all == [1, 2])
        await loop.shutDown()
    }

    @Test("what was handed over before the shutdown runs, what comes after is refused")
    func shutDown() async throws {
        let loop = try EventLoop(name: "test")
        let count = Log<Int>()
        for _ in 0..<1000 { loop.execute { count.add(1) } }
        await loop.shutDown()
        #expect(count.all.count == 1000)
        #expect(!loop.execute {})
        await #expect(throws: ReactorError.self) { try await loop.perform { 1 } }
        await loop.shutDown()
    }

    @Test("only the loop's own thread is current")
    func current() async throws {
        let loop = try EventLoop(name: "test")
        #expect(!loop.isCurrent)
        #expect(try await loop.perform { loop.isCurrent })
        await loop.shutDown()
    }

    @Test("touching what belongs to the loop from elsewhere stops the program")
    func trap() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "test")
            loop.preconditionOnLoop()
        }
    }

    @Test("timers run in the order of their due times, and cancelled ones do not run")
    func timers() async throws {
        let loop = try EventLoop(name: "test")
        let order = Log<Int>()
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.schedule(after: .milliseconds(30)) {
                    order.add(3)
                    continuation.resume()
                }
                loop.schedule(after: .milliseconds(10)) { order.add(1) }
                let cancelled = loop.schedule(after: .milliseconds(20)) { order.add(2) }
                loop.schedule(after: .seconds(-5)) { order.add(0) }
                loop.schedule(after: .seconds(1 << 40)) { order.add(9) }
                loop.cancel(cancelled)
                loop.cancel(cancelled)
            }
        }
        await loop.shutDown()
        #expect(order.all == [0, 1, 3])
    }

    @Test("a timer never runs early")
    func notEarly() async throws {
        let loop = try EventLoop(name: "test")
        for microseconds in [1, 500, 1500, 10_001] {
            let delay = Duration.microseconds(microseconds)
            let waited = await withCheckedContinuation { continuation in
                loop.execute {
                    let start = ContinuousClock.now
                    loop.schedule(after: delay) { continuation.resume(returning: start.duration(to: .now)) }
                }
            }
            #expect(waited >= delay)
        }
        await loop.shutDown()
    }

    @Test(
        "the kernel's wait is rounded up to a millisecond, and ends within a minute when a timer is far off",
        arguments: [
            (nil, -1), (UInt64(5_000_000), 0), (4_999_999, 0), (5_000_001, 1), (6_000_000, 1), (6_000_001, 2),
            (.max, 60_000),
        ] as [(UInt64?, Int32)]
    )
    func kernelWait(due: UInt64?, expected: Int32) {
        #expect(EventLoop.milliseconds(from: 5_000_000, until: due) == expected)
    }
}
