import APITypes
import BenchSupport
import Intake
import Orchestrator

/// One update of each of many activities with one device, by the daemon that has started them a moment before, and has
/// updated others already: connections are made and statements planned with the first.
struct SingleUpdates: Sendable {
    private let options: Options
    private let activities: Int
    private let callers: Int
    /// How many updates a caller posts at a time; 1: each by itself.
    private let batch: Int

    struct Result: Encodable {
        let updates: Int
        /// How many went before, and do not count.
        let before: Int
        let callers: Int
        /// From the first call to the last answer of APNs.
        let seconds: Double
        /// From the first call to the end of the last one.
        let secondsToAcceptAll: Double
        let accepted: Int
    }

    init(_ options: Options) throws {
        self.options = options
        activities = try options.number("activities")
        callers = try options.number("callers")
        batch = try options.number("batch")
    }

    func run() async throws -> Result {
        let daemon = try Daemon(options)
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            let before = max(activities / 5, callers * batch)
            try await scene.prepareSingles(before + activities)
            try await post(before, after: 0, to: daemon.orchestrator)
            _ = await daemon.sender.waitForAnswers(before)
            daemon.sender.reset()
            let began = ContinuousClock.now
            try await post(activities, after: before, to: daemon.orchestrator)
            let allAccepted = ContinuousClock.now
            let ended = await daemon.sender.waitForAnswers(activities).last
            return Result(
                updates: activities,
                before: before,
                callers: callers,
                seconds: ended.seconds(since: began),
                secondsToAcceptAll: allAccepted.seconds(since: began),
                accepted: activities - daemon.sender.refused
            )
        }
    }

    /// Updates so many activities, after the first ones.
    private func post(_ count: Int, after first: Int, to orchestrator: Orchestrator) async throws {
        try await Callers(count: callers).run(to: count, by: batch) { numbers in
            try await update(first + numbers.lowerBound...first + numbers.upperBound, through: orchestrator)
        }
    }

    private func update(_ numbers: ClosedRange<Int>, through orchestrator: Orchestrator) async throws {
        let requests = numbers.map { (Scene.activity($0), UpdateRequest(contentState: Scene.state($0))) }
        guard numbers.count > 1 else {
            _ = try await orchestrator.intake.update(Scene.app, requests[0].0, requests[0].1, origin: nil)
            return
        }
        let operations = requests.map { KeyedOperation(BatchOperation(.update($0, $1)), idempotency: nil) }
        for result in await orchestrator.intake.batch(Scene.app, operations, origin: nil) { _ = try result.get() }
    }
}

extension Scene {
    /// So many activities with one device each, which have been sent nothing but the start. Many are `copied`.
    func prepareSingles(_ count: Int, copied: Bool = false) async throws {
        try await prepare()
        try await copied ? addActivities(upTo: count) : startActivities(upTo: count)
        try await addDevices(count)
        try await addSubscriptions(ofEach: 1)
        try await rest()
    }
}
