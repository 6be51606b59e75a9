import ActivityModel
import TestSupport
import Testing

@Suite("What time brings to a card")
struct CardWatchTests {
    private static func policy(wake: Int?, wait: Int) -> Policy {
        var policy = Policy()
        (policy.wakeAfterSeconds, policy.tokenWaitSeconds) = (wake, wait)
        return policy
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var watch = CardWatch(isWaiting: true)
        /// In seconds.
        let age: Int64
        var wake: Int? = 60
        var canWake = true
        let actions: [CardWatch.Action]
        /// In seconds.
        let next: Int64?

        var testDescription: String { "\(watch) at \(age)" }
    }

    static let lifetime: Int64 = 28_800

    static let cases = [
        Case(age: 0, actions: [], next: 60),
        Case(age: 60, actions: [.wake], next: 300),
        Case(age: 60, canWake: false, actions: [], next: 300),
        Case(age: 300, actions: [.wake, .reportOverdue], next: lifetime),
        Case(watch: CardWatch(isWaiting: true, isWoken: true), age: 300, actions: [.reportOverdue], next: lifetime),
        Case(watch: CardWatch(isWaiting: true, isWoken: true), age: 299, actions: [], next: 300),
        Case(watch: CardWatch(isWaiting: true, isOverdue: true), age: 400, actions: [.wake], next: lifetime),
        Case(age: 59, wake: nil, actions: [], next: 300),
        Case(age: 300, wake: nil, actions: [.reportOverdue], next: lifetime),
        Case(watch: CardWatch(isWaiting: false), age: 400, actions: [], next: lifetime),
        Case(watch: CardWatch(isWaiting: false), age: lifetime, actions: [.expire], next: nil),
        Case(age: lifetime + 7, actions: [.expire], next: nil),
        Case(watch: CardWatch(isWaiting: false, isPending: true), age: lifetime, actions: [], next: 30 * 86_400),
        Case(watch: CardWatch(isWaiting: false, isPending: true), age: 30 * 86_400, actions: [.expire], next: nil),
    ]

    @Test("A card that can be continued is handed over at its age, and again until it is over")
    func handOver() {
        var policy = Self.policy(wake: nil, wait: 300)
        policy.continueAfterHours = 4
        let hour: Int64 = 3_600_000_000
        var watch = CardWatch(isWaiting: false, isContinuable: true)
        #expect(watch.actions(at: 4 * hour - 1, policy, canWake: true).isEmpty)
        #expect(watch.nextAge(after: 0, policy) == 4 * hour)
        #expect(watch.actions(at: 4 * hour, policy, canWake: true) == [.handOver])
        #expect(watch.actions(at: 5 * hour, policy, canWake: true) == [.handOver])
        #expect(watch.actions(at: 8 * hour, policy, canWake: true) == [.expire])
        var other = CardWatch(isWaiting: false)
        #expect(other.actions(at: 5 * hour, policy, canWake: true).isEmpty)
        #expect(other.nextAge(after: 0, policy) == 8 * hour)
    }

    @Test("What is due at an age, and when to look again", arguments: cases)
    func table(example: Case) {
        var watch = example.watch
        let policy = Self.policy(wake: example.wake, wait: 300)
        let age = example.age * 1_000_000
        #expect(watch.actions(at: age, policy, canWake: example.canWake) == example.actions)
        #expect(watch.nextAge(after: age, policy) == example.next.map { $0 * 1_000_000 })
    }

    @Test(
        "However late the looks come, each thing happens once, nothing before its time, and the watch ends",
        arguments: 1...200
    )
    func once(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let wake = Bool.random(using: &random) ? Int.random(in: 0...30_000, using: &random) : nil
        let policy = Self.policy(wake: wake, wait: .random(in: 0...30_000, using: &random))
        var watch = CardWatch(isWaiting: true)
        var age: Int64 = 0
        var seen: [CardWatch.Action] = []
        while let next = watch.nextAge(after: age, policy) {
            #expect(next > age)
            age = next + .random(in: 0...3_000_000_000, using: &random)
            for action in watch.actions(at: age, policy, canWake: true) {
                #expect(!seen.contains(action))
                seen.append(action)
                switch action {
                case .wake: #expect(age >= Int64(policy.wakeAfterSeconds ?? .max) * 1_000_000)
                case .reportOverdue: #expect(age >= Int64(policy.tokenWaitSeconds) * 1_000_000)
                case .handOver: Issue.record("The policy has no continue_after_hours.")
                case .expire: #expect(age >= Self.lifetime * 1_000_000)
                }
            }
        }
        #expect(seen.last == .expire)
    }
}
