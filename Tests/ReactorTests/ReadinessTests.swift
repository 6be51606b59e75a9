import Glibc
import Reactor
import Synchronization
import Testing

@Suite("Waiting for a descriptor", .timeLimit(.minutes(1)))
struct ReadinessTests {
    /// Both ends of a non-blocking pair of sockets.
    private struct Pair: ~Copyable {
        let near: Int32
        let far: Int32

        init() {
            var ends: [Int32] = [-1, -1]
            _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
            near = ends[0]
            far = ends[1]
        }

        deinit {
            close(near)
            close(far)
        }

        func send() {
            _ = write(far, "x", 1)
        }
    }

    @Test("readiness that is there already is reported at once")
    func immediate() async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        pair.send()
        #expect(try await loop.readiness(of: pair.near, .read, deadline: nil) == .read)
        #expect(try await loop.readiness(of: pair.near, .write, deadline: nil) == .write)
        #expect(try await loop.readiness(of: pair.near, [.read, .write], deadline: nil) == [.read, .write])
        await loop.shutDown()
    }

    @Test("readiness that comes later ends the wait")
    func later() async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let near = pair.near
        async let ready = loop.readiness(of: near, .read, deadline: .now + .seconds(30))
        pair.send()
        #expect(try await ready == .read)
        await loop.shutDown()
    }

    @Test("the peer's end counts as readiness to read")
    func hangUp() async throws {
        let loop = try EventLoop(name: "test")
        var ends: [Int32] = [-1, -1]
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        close(ends[1])
        #expect(try await loop.readiness(of: ends[0], .read, deadline: nil) == .read)
        close(ends[0])
        await loop.shutDown()
    }

    @Test("the deadline ends the wait, also one that has passed", arguments: [Duration.milliseconds(20), .seconds(-1)])
    func deadline(after delay: Duration) async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let error = await #expect(throws: ReactorError.self) {
            try await loop.readiness(of: pair.near, .read, deadline: .now + delay)
        }
        #expect(error?.code == .timedOut)
        // The descriptor is free again.
        pair.send()
        #expect(try await loop.readiness(of: pair.near, .read, deadline: nil) == .read)
        await loop.shutDown()
    }

    @Test("what takes several turns takes them on the loop, and wakes the task once")
    func turns() async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let near = pair.near
        let (turns, turn) = AsyncStream.makeStream(of: Bool.self)
        let left = Mutex(3)
        async let ready = loop.readiness(of: near, .read, deadline: .now + .seconds(30)) {
            var byte: UInt8 = 0
            let isRead = read(near, &byte, 1) == 1
            turn.yield(isRead && loop.isCurrent)
            // After the last byte it waits for something else, which is there at once.
            return left.withLock { left in
                left -= 1
                return left > 0 ? .read : left == 0 ? .write : nil
            }
        }
        var taken = turns.makeAsyncIterator()
        for _ in 0..<3 {
            pair.send()
            let wasRead = await taken.next()
            #expect(wasRead == true)
        }
        #expect(try await ready == .write)
        #expect(left.withLock { $0 } == -1)
        await loop.shutDown()
    }

    @Test("cancelling the task ends the wait between two turns")
    func cancellationBetweenTurns() async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let near = pair.near
        let (turns, turn) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await loop.readiness(of: near, .read, deadline: nil) {
                var byte: UInt8 = 0
                _ = read(near, &byte, 1)
                turn.yield()
                return .read
            }
        }
        pair.send()
        var taken = turns.makeAsyncIterator()
        await taken.next()
        task.cancel()
        #expect((await task.result.failure as? ReactorError)?.code == .cancelled)
        // The descriptor is free again.
        pair.send()
        #expect(try await loop.readiness(of: near, .read, deadline: nil) == .read)
        await loop.shutDown()
    }

    @Test("cancelling the task ends the wait, whenever it happens", arguments: 0..<200)
    func cancellation(round: Int) async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let near = pair.near
        let task = Task { try await loop.readiness(of: near, .read, deadline: nil) }
        for _ in 0..<(round % 20) { await Task.yield() }
        task.cancel()
        let result = await task.result
        #expect(throws: ReactorError.self) { try result.get() }
        #expect((result.failure as? ReactorError)?.code == .cancelled)
        pair.send()
        #expect(try await loop.readiness(of: near, .read, deadline: nil) == .read)
        await loop.shutDown()
    }

    @Test("a shutdown ends open waits, and refuses new ones")
    func shutDown() async throws {
        let loop = try EventLoop(name: "test")
        let pair = Pair()
        let near = pair.near
        let task = Task { try await loop.readiness(of: near, .read, deadline: nil) }
        await Task.yield()
        await loop.shutDown()
        #expect((await task.result.failure as? ReactorError)?.code == .shutDown)
        let error = await #expect(throws: ReactorError.self) {
            try await loop.readiness(of: near, .read, deadline: nil)
        }
        #expect(error?.code == .shutDown)
    }

    @Test("a descriptor that cannot be watched is an error with the kernel's number")
    func badDescriptor() async throws {
        let loop = try EventLoop(name: "test")
        let error = await #expect(throws: ReactorError.self) {
            try await loop.readiness(of: 9999, .read, deadline: nil)
        }
        #expect(error?.errno == EBADF)
        #expect(error?.description.contains("Bad file descriptor") == true)
        await loop.shutDown()
    }

    @Test("many waits at once on many descriptors each get their own answer")
    func many() async throws {
        let loop = try EventLoop(name: "test")
        var ends: [[Int32]] = []
        for _ in 0..<50 {
            var pair: [Int32] = [-1, -1]
            _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
            ends.append(pair)
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for (index, pair) in ends.enumerated() {
                group.addTask {
                    _ = try await loop.readiness(of: pair[0], .read, deadline: .now + .seconds(30))
                    return index
                }
            }
            var finished: Set<Int> = []
            for index in ends.indices.reversed() {
                _ = write(ends[index][1], "x", 1)
                if let done = try await group.next() { finished.insert(done) }
            }
            #expect(finished.count == 50)
        }
        for pair in ends.flatMap({ $0 }) { close(pair) }
        await loop.shutDown()
    }
}

extension Result {
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
