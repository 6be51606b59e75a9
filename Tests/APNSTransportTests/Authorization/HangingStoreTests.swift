import Synchronization
import Testing

@testable import APNSTransport

@Suite("A store of provider tokens that hangs", .timeLimit(.minutes(1)))
struct HangingStoreTests {
    @Test("costs a push no more than its time, and hears of a complaint once")
    func bounded() async throws {
        let store = HangingStore()
        let tokens = ProviderTokens(store: store)
        let identity = try testIdentity()
        let error = await #expect(throws: ProviderTokens.Missing.self) {
            _ = try await tokens.token(for: identity, until: .now + .milliseconds(20))
        }
        #expect(error?.outcome.class == .notSent)
        let expired = ProviderToken(text: "expired", issuedAt: 0)
        let successor = await tokens.successor(of: expired, for: identity, until: .now + .milliseconds(20))
        #expect(successor == nil)
        for _ in 1...3 { await tokens.tooMany(for: identity, until: .now + .milliseconds(20)) }
        let complaints = store.complaints.withLock(\.self)
        #expect(complaints == 1)
    }

    @Test("does not cost a push its time while the last token is good")
    func meanwhile() async throws {
        let old = IssuedProviderToken(ProviderToken(text: "old", issuedAt: 0), age: 55 * 60)
        let store = HangingStore(answers: [old])
        let tokens = ProviderTokens(store: store)
        let identity = try testIdentity()
        #expect(try await tokens.token(for: identity, until: .now + .seconds(60)) == old.token)
        // It gives up after a third of the time. The rest is for a machine that is busy with other tests.
        let due = ContinuousClock.now + .seconds(30)
        #expect(try await tokens.token(for: identity, until: due) == old.token)
        #expect(store.isExhausted, "it was asked again")
        #expect(.now < due, "there is time left to send")
    }

    /// Gives the answers that it has, then none until it is cancelled.
    private final class HangingStore: ProviderTokenStore {
        let complaints = Mutex(0)
        private let answers: Mutex<[IssuedProviderToken?]>

        init(answers: [IssuedProviderToken] = []) {
            // The nil stands for the question that hangs.
            self.answers = Mutex(answers + [nil])
        }

        /// Whether a question has hung.
        var isExhausted: Bool { answers.withLock(\.isEmpty) }

        func token(
            for identity: SigningIdentity,
            replacing expired: ProviderToken?
        ) async throws -> IssuedProviderToken {
            if let answer = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return answer }
            try await Task.sleep(for: .seconds(600))
            return IssuedProviderToken(ProviderToken(text: "late", issuedAt: 0), age: 0)
        }

        func tooManyTokens(for identity: SigningIdentity) async throws {
            complaints.withLock { $0 += 1 }
            try await Task.sleep(for: .seconds(600))
        }
    }
}
