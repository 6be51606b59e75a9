import APITypes
import BenchSupport
import Orchestrator

/// One update of each of many activities with one device.
struct SingleUpdates: Sendable {
    private let options: Options
    private let activities: Int
    private let callers: Int

    struct Result: Encodable {
        let updates: Int
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
    }

    func run() async throws -> Result {
        let daemon = try Daemon(options)
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.prepareSingles(activities)
            daemon.sender.reset()
            let began = ContinuousClock.now
            try await Callers(count: callers).run(1...activities) { number in
                _ = try await daemon.orchestrator.update(
                    Scene.app,
                    Scene.activity(number),
                    UpdateRequest(contentState: Scene.state(number))
                )
            }
            let allAccepted = ContinuousClock.now
            let ended = await daemon.sender.waitForAnswers(activities).last
            return Result(
                updates: activities,
                seconds: ended.seconds(since: began),
                secondsToAcceptAll: allAccepted.seconds(since: began),
                accepted: activities - daemon.sender.refused
            )
        }
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
