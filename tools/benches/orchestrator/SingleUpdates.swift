import APITypes
import BenchSupport
import Orchestrator

/// One update of each of many activities with one device.
struct SingleUpdates: Sendable {
    private let options: Options
    private let activities: Int
    private let callers: Int
    /// How many updates a caller posts at a time; 1: each by itself.
    private let batch: Int

    struct Result: Encodable {
        let updates: Int
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
            try await scene.prepareSingles(activities)
            daemon.sender.reset()
            let began = ContinuousClock.now
            try await Callers(count: callers).run(to: activities, by: batch) { numbers in
                try await update(numbers, through: daemon.orchestrator)
            }
            let allAccepted = ContinuousClock.now
            let ended = await daemon.sender.waitForAnswers(activities).last
            return Result(
                updates: activities,
                callers: callers,
                seconds: ended.seconds(since: began),
                secondsToAcceptAll: allAccepted.seconds(since: began),
                accepted: activities - daemon.sender.refused
            )
        }
    }

    private func update(_ numbers: ClosedRange<Int>, through orchestrator: Orchestrator) async throws {
        let requests = numbers.map { (Scene.activity($0), UpdateRequest(contentState: Scene.state($0))) }
        guard numbers.count > 1 else {
            _ = try await orchestrator.update(Scene.app, requests[0].0, requests[0].1)
            return
        }
        let operations = requests.map { KeyedOperation(BatchOperation(.update($0, $1)), idempotency: nil) }
        for result in await orchestrator.batch(Scene.app, operations) { _ = try result.get() }
    }
}

extension Scene {
    /// So many activities with one device each, which have been sent nothing but the start.
    func prepareSingles(_ count: Int) async throws {
        try await prepare()
        try await addActivities(upTo: count)
        try await addDevices(count)
        try await addSubscriptions(ofEach: 1)
        try await rest()
    }
}
