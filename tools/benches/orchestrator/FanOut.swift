import APITypes
import BenchSupport
import Intake
import Orchestrator
import Postgres

/// One change to many update tokens of one activity; or of several activities, one each, posted together.
struct FanOut: Sendable {
    private let options: Options
    private let activities: Int
    /// Of each activity.
    private let destinations: Int
    private let rounds: Int
    /// Who wait for the answer to one post before they make the next.
    private static let mostCallers = 64

    struct Result: Encodable {
        let activities: Int
        let destinations: Int
        /// From the call that accepts the first change to the acknowledgement of the last batch; by round.
        var seconds: [Double] = []
        /// The part before the first batch is given to the transport.
        var secondsToFirstPush: [Double] = []
        var accepted = 0
        /// Rows written in all rounds, by table.
        var rowsWritten: [String: Int64] = [:]
    }

    init(_ options: Options) throws {
        self.options = options
        activities = try options.number("activities")
        destinations = try options.number("destinations")
        rounds = try options.number("rounds")
    }

    func run() async throws -> Result {
        var pool = Database.Configuration()
        pool.maximumConnections = 1
        let aside = try Database(url: options.text("database"), configuration: pool, logger: Daemon.logger)
        let counts = RowCounts(database: aside)
        // Sessions tell what they have written when they end, so the preparation has a daemon of its own.
        let preparation = try Daemon(options)
        try await preparation.whileServing {
            let scene = Scene(orchestrator: preparation.orchestrator)
            try await scene.prepare()
            try await scene.addActivities(upTo: activities)
            try await scene.addDevices(activities * destinations)
            try await scene.addSubscriptions(ofEach: destinations)
            try await scene.rest()
        }
        let before = try await counts.read()
        let daemon = try Daemon(options, masterKey: preparation.masterKey)
        var result = try await daemon.whileServing { try await measure(daemon) }
        let after = try await counts.read()
        await aside.shutDown()
        for (table, count) in after where count > before[table, default: 0] {
            result.rowsWritten[table] = count - before[table, default: 0]
        }
        return result
    }

    private func measure(_ daemon: Daemon) async throws -> Result {
        let scene = Scene(orchestrator: daemon.orchestrator)
        var result = Result(activities: activities, destinations: destinations)
        let pushes = activities * destinations
        for round in 1...rounds {
            daemon.sender.reset()
            let began = ContinuousClock.now
            let request = UpdateRequest(contentState: Scene.state(round))
            try await Callers(count: min(activities, Self.mostCallers)).run(1...activities) { number in
                _ = try await daemon.orchestrator.intake.update(Scene.app, Scene.activity(number), request, origin: nil)
            }
            let answers = await daemon.sender.waitForAnswers(pushes)
            let ended = try await scene.work(
                until: "SELECT every(completed_revision = \(round + 1)) FROM segments",
                "all rings have sent revision \(round + 1)"
            )
            result.seconds.append(ended.seconds(since: began))
            result.secondsToFirstPush.append(answers.first.seconds(since: began))
            result.accepted += pushes - daemon.sender.refused
            // Two changes of one second are stamped apart, and at some point wait for that.
            if round < rounds { try await Task.sleep(for: .seconds(1.1)) }
        }
        return result
    }
}
