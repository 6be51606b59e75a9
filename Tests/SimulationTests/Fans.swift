import APITypes
import ActivityModel
import Intake

@testable import Orchestrator

/// A phone of a large crowd. It shows what it is sent, and does nothing else: its token never changes, and it is never
/// looked at by itself.
struct Fan: Sendable {
    private(set) var score: Int64 = 0
    private(set) var timestamp: Timestamp = 0
    private(set) var isEnded = false

    static let count = 10_000

    /// Its token tells it from all others, and from those of other phones.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "f0" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    mutating func take(_ push: ArrivedPush) {
        guard !isEnded, push.timestamp > timestamp else { return }
        timestamp = push.timestamp
        if let content = push.content { score = content.score }
        isEnded = push.event == "end"
    }
}

extension Universe {
    /// The first match has a large crowd, which reports its cards at once.
    func fill() async throws {
        guard let match = matches.first else { return }
        note("\(Fan.count) fans follow \(match.id)")
        apple.with { state in
            state.areFaultsOn = false
            for number in 1...Fan.count { state.fans[Fan.token(number)] = Fan() }
        }
        let orchestrator = daemons[0].orchestrator
        try await withThrowingTaskGroup(of: Void.self) { reports in
            for number in 1...Fan.count {
                guard let token = PushToken(hex: Fan.token(number)) else { continue }
                reports.addTask {
                    _ = try await orchestrator.intake.subscribe(
                        Self.app,
                        ActivityID(stored: match.id),
                        DeviceID(stored: "fan\(number)"),
                        SubscriptionRequest(.updateToken(token), environment: .production)
                    )
                }
            }
            try await reports.waitForAll()
        }
        try await settle()
        apple.with { $0.areFaultsOn = true }
    }

    /// Promise 2: every fan shows the newest state, or the end.
    func checkFans() throws {
        guard let match = matches.first, let newest = match.newest else { return }
        for (token, fan) in apple.with({ $0.fans }) {
            guard fan.score == newest.score, fan.isEnded == match.hasEnded else {
                let shown = "score \(fan.score)\(fan.isEnded ? ", ended" : "")"
                throw BrokenPromise(2, "the fan \(token) shows \(shown) and not \(newest.score) of \(match.id)")
            }
        }
    }
}
