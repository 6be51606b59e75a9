import APITypes
import ActivityModel
import BenchSupport
import Intake
import Orchestrator

/// Update tokens that are reported for the first time, each of which is owed the newest state.
struct Registrations: Sendable {
    private let options: Options
    private let count: Int
    private let callers: Int
    /// How many reports a caller makes at a time; 1: each by itself.
    private let batch: Int

    struct Result: Encodable {
        let registrations: Int
        let callers: Int
        /// From the first call to the end of the last one.
        let seconds: Double
        /// From the first call to the answer to the last catch-up push.
        let secondsToCatchUp: Double
        let accepted: Int
    }

    init(_ options: Options) throws {
        self.options = options
        count = try options.number("count")
        callers = try options.number("callers")
        batch = try options.number("batch")
    }

    func run() async throws -> Result {
        let daemon = try Daemon(options)
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.prepare()
            try await scene.addDevices(count)
            try await scene.rest()
            daemon.sender.reset()
            let began = ContinuousClock.now
            try await Callers(count: callers).run(to: count, by: batch) { numbers in
                try await report(numbers, to: daemon.orchestrator)
            }
            let allRegistered = ContinuousClock.now
            let ended = await daemon.sender.waitForAnswers(count).last
            return Result(
                registrations: count,
                callers: callers,
                seconds: allRegistered.seconds(since: began),
                secondsToCatchUp: ended.seconds(since: began),
                accepted: count - daemon.sender.refused
            )
        }
    }

    private func report(_ numbers: ClosedRange<Int>, to orchestrator: Orchestrator) async throws {
        let requests = try numbers.map { number in
            guard let token = PushToken(bytes: Self.token(number)) else { throw Mistake("a token is refused") }
            return SubscriptionRequest(.updateToken(token), generation: 1, environment: .production)
        }
        guard numbers.count > 1 else {
            _ = try await orchestrator.intake.subscribe(
                Scene.app,
                Scene.first,
                Scene.device(numbers.lowerBound),
                requests[0]
            )
            return
        }
        let operations = zip(numbers, requests).map { number, request in
            KeyedOperation(
                BatchOperation(.subscription(Scene.first, Scene.device(number), request)),
                idempotency: nil
            )
        }
        for result in await orchestrator.intake.batch(Scene.app, operations, origin: nil) { _ = try result.get() }
    }

    /// 80 bytes that no other number has.
    private static func token(_ number: Int) -> [UInt8] {
        (0..<80).map { UInt8(truncatingIfNeeded: (number &* 0x9E37_79B9) >> (8 * ($0 % 8))) ^ UInt8($0) }
    }
}
