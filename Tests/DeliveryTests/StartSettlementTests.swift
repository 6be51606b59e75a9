import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Store
import Synchronization
import Testing

@testable import Orchestrator

@Suite("What became of starts, stored in spite of outages", .timeLimit(.minutes(2)))
struct StartSettlementTests {
    /// A database that a daemon loses, and a clock that passes only while the daemon pauses.
    private final class Outage: Sendable {
        enum Kind { case away, answerLost }

        private struct State {
            var kind: Kind?
            var pauses = 0
            var uptime = Duration.zero
        }

        private let state = Mutex(State())

        var pauses: Int { state.withLock { $0.pauses } }
        var uptime: Duration { state.withLock { $0.uptime } }

        func begin(_ kind: Kind) { state.withLock { $0.kind = kind } }
        func end() { state.withLock { $0.kind = nil } }

        /// - Returns: How many pauses it is with this one.
        func pass(_ time: Duration) -> Int {
            state.withLock { state in
                state.pauses += 1
                state.uptime += time
                return state.pauses
            }
        }

        var gate: StatementGate {
            StatementGate { (moment) async throws(PostgresError) in
                switch self.state.withLock({ $0.kind }) {
                case .away: throw PostgresError(.connectionLost)
                case .answerLost where moment == .afterCommit:
                    self.end()
                    throw PostgresError(.commitUnknown)
                case .answerLost, nil: break
                }
            }
        }
    }

    /// Has two devices started by a daemon that loses its database when both pushes have left; `pause` is what happens
    /// in each pause, whose number it is told, and throws when the daemon stops.
    private func withLoss(
        _ kind: Outage.Kind,
        pause: @escaping @Sendable (World, Outage, Int) async throws -> Void,
        _ body: (World, Outage) async throws -> Void
    ) async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            let outage = Outage()
            var settings = world.orchestrator.settings
            settings.uptime = { outage.uptime }
            let pauseOfWorker = settings.lease / 12
            settings.pause = {
                // The worker that leaves its segment for later is not of interest here.
                if $0 == pauseOfWorker { throw CancellationError() }
                try await pause(world, outage, outage.pass($0))
            }
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02")
            world.recorder.answer("5a02", with: .badToken)
            try await world.start(to: World.devices("d1", "d2"))
            let daemon = world.sibling(settings: settings, behind: outage.gate)
            let departure = world.recorder.close()
            let work = Task { try? await daemon.settle() }
            await departure.arrivals()
            outage.begin(kind)
            world.recorder.open()
            await work.value
            outage.end()
            try await body(world, outage)
        }
    }

    @Test("While the database is away the answers are kept; when it is back they are stored, and no start is repeated")
    func outage() async throws {
        try await withLoss(
            .away,
            pause: { _, outage, number in if number == 5 { outage.end() } }
        ) { world, outage in
            #expect(outage.pauses == 5)
            #expect(try await world.startState("d1") == "sent")
            #expect(try await world.startState("d2") == "failed")
            #expect(try await world.subscription("d1") == "waiting_for_token")
            try await world.expireLeases()
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["5a01", "5a02"])
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("What was stored though the answer to the COMMIT was lost is not stored over what has come since")
    func commitUnknown() async throws {
        try await withLoss(
            .answerLost,
            pause: { world, _, _ in
                // An operator has another try made with the token, and the phone's card is gone and forgotten.
                try await world.database.execute("UPDATE start_tokens SET state = 'live'")
                try await world.database.execute("DELETE FROM subscriptions")
            }
        ) { (world, outage) async throws in
            #expect(outage.pauses == 1)
            #expect(try await world.startState("d1") == "sent")
            #expect(try await world.startState("d2") == "failed")
            #expect(try await world.number("SELECT count(*) FROM start_tokens WHERE state = 'live'") == 2)
            #expect(try await world.number("SELECT count(*) FROM subscriptions") == 0)
        }
    }

    @Test("When the claims are over they count as starts without an answer, which are repeated once")
    func isOver() async throws {
        try await withLoss(.away, pause: { _, _, _ in }) { world, outage in
            #expect((Duration.seconds(90)..<Duration.seconds(100)).contains(outage.uptime))
            #expect(try await world.startState("d1") == "claimed")
            _ = world.recorder.take()
            try await world.expireLeases()
            try await world.pass(101)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["5a01", "5a02"])
            #expect(try await world.show().starts.repeated == 2)
        }
    }

    @Test("A daemon that stops tries once more", arguments: [false, true])
    func stops(isBack: Bool) async throws {
        try await withLoss(
            .away,
            pause: { _, outage, _ in
                if isBack { outage.end() }
                throw CancellationError()
            }
        ) { (world, outage) async throws in
            #expect(outage.pauses == 1)
            #expect(try await world.startState("d1") == (isBack ? "sent" : "claimed"))
        }
    }
}
