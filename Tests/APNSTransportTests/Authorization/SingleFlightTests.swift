import APNSTransport
import Synchronization
import Testing

@Suite("Asking once for all who ask at the same time", .timeLimit(.minutes(1)))
struct SingleFlightTests {
    private struct Refusal: Error {}

    /// Asks that wait until they are let go, each answered with its number.
    private final class Asks: Sendable {
        private let state = Mutex((count: 0, held: [CheckedContinuation<Void, Never>]()))

        var count: Int { state.withLock { $0.count } }

        func ask() async -> Int {
            await withCheckedContinuation { continuation in
                state.withLock {
                    $0.count += 1
                    $0.held.append(continuation)
                }
            }
            return count
        }

        func letGo() {
            let held = state.withLock { state in
                defer { state.held = [] }
                return state.held
            }
            for continuation in held { continuation.resume() }
        }

        /// Returns when so many asks have begun; the test's time limit is the deadline.
        func begun(_ count: Int) async throws {
            while self.count < count {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    @Test("Who asks while another does has that answer, and who comes later asks anew")
    func together() async throws {
        let (flight, asks) = (SingleFlight<String, Int>(), Asks())
        for round in 1...2 {
            let answers = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask { try await flight.value(for: "a") { await asks.ask() } }
                try await asks.begun(round)
                for _ in 0..<20 {
                    // A task that waits has come to where it does before the next begins.
                    group.addImmediateTask { try await flight.value(for: "a") { await asks.ask() } }
                }
                asks.letGo()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: round, count: 21))
        }
    }

    @Test("Questions that differ do not wait for each other")
    func apart() async throws {
        let (flight, asks) = (SingleFlight<String, Int>(), Asks())
        async let first = flight.value(for: "a") { await asks.ask() }
        async let second = flight.value(for: "b") { await asks.ask() }
        try await asks.begun(2)
        asks.letGo()
        #expect(try await [first, second] == [2, 2])
    }

    @Test("A failure is everybody's")
    func failure() async throws {
        let (flight, asks) = (SingleFlight<String, Int>(), Asks())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addImmediateTask {
                    await #expect(throws: Refusal.self) {
                        try await flight.value(for: "a") {
                            _ = await asks.ask()
                            throw Refusal()
                        }
                    }
                }
            }
            asks.letGo()
        }
        #expect(asks.count == 1)
    }

    @Test("If the one who asks is cancelled, the next asks, and nobody else fails by it")
    func cancelled() async throws {
        let (flight, asks) = (SingleFlight<String, Int>(), Asks())
        let ask: @Sendable () async throws -> Int = {
            let number = await asks.ask()
            try Task.checkCancellation()
            return number
        }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            let first = Task.immediate { try await flight.value(for: "a", asking: ask) }
            for _ in 0..<5 { group.addImmediateTask { try await flight.value(for: "a", asking: ask) } }
            first.cancel()
            asks.letGo()
            await #expect(throws: CancellationError.self) { try await first.value }
            try await asks.begun(2)
            asks.letGo()
            for try await answer in group { #expect(answer == 2) }
        }
        #expect(asks.count == 2)
    }

    @Test("Who waits and is cancelled has no answer; the others have it")
    func cancelledWaiter() async throws {
        let (flight, asks) = (SingleFlight<String, Int>(), Asks())
        let first = Task.immediate { try await flight.value(for: "a") { await asks.ask() } }
        let others = (0..<3).map { _ in Task.immediate { try await flight.value(for: "a") { await asks.ask() } } }
        others[1].cancel()
        asks.letGo()
        #expect(try await [first.value, others[0].value, others[2].value] == [1, 1, 1])
        await #expect(throws: CancellationError.self) { try await others[1].value }
        #expect(asks.count == 1)
    }

    @Test("Pushes that want a provider token at the same time ask the store once")
    func stampede() async throws {
        let store = CountingStore()
        try await ClientWorld.run(providerTokens: store, script: { _ in .ok }) { world async throws in
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<64 { group.addTask { try await world.send(1).accepted } }
                return try await group.reduce(0, +)
            }
            #expect(accepted == 64)
            #expect(store.count == 1)
        }
    }

    private final class CountingStore: ProviderTokenStore {
        private let tokens = LocalProviderTokens { 1_763_700_000 }
        private let asked = Mutex(0)

        var count: Int { asked.withLock(\.self) }

        func token(
            for identity: SigningIdentity,
            replacing expired: ProviderToken?
        ) async throws -> IssuedProviderToken {
            asked.withLock { $0 += 1 }
            // Others come meanwhile.
            for _ in 0..<1_000 { await Task.yield() }
            return try tokens.token(for: identity, replacing: expired)
        }

        func tooManyTokens(for identity: SigningIdentity) async throws {}
    }
}
