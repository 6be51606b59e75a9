import APITypes
import BenchSupport
import Orchestrator

/// How long a single update is on its way when they come at a steady rate.
struct Latency: Sendable {
    private let options: Options
    private let rate: Int
    private let seconds: Int

    struct Result: Encodable {
        let perSecond: Int
        /// From the call that posts the update to its return.
        let accept: Times
        /// From the same call to the answer to the push.
        let push: Times
    }

    init(_ options: Options) throws {
        self.options = options
        rate = try options.number("rate")
        seconds = try options.number("seconds")
    }

    func run() async throws -> Result {
        let daemon = try Daemon(options)
        let count = rate * seconds
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.prepareSingles(count)
            daemon.sender.reset()
            daemon.sender.noteAnswers()
            let posts = try await post(count, to: daemon.orchestrator)
            _ = await daemon.sender.waitForAnswers(count)
            let answers = daemon.sender.notedAnswers
            let pushes = posts.compactMap { number, post in answers[number].map { post.began.duration(to: $0) } }
            guard pushes.count == count else { throw Mistake("\(count) updates, \(pushes.count) of them pushed") }
            return Result(
                perSecond: rate,
                accept: Times(posts.values.map { $0.began.duration(to: $0.ended) }),
                push: Times(pushes)
            )
        }
    }

    private struct Post: Sendable {
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    /// Posts at the rate, whatever becomes of the posts before; a post counts from the time at which it was to be made.
    private func post(_ count: Int, to orchestrator: Orchestrator) async throws -> [Int: Post] {
        let began = ContinuousClock.now
        return try await withThrowingTaskGroup(of: (Int, Post).self) { group in
            for number in 1...count {
                let time = began + .seconds(1) / rate * number
                try await Task.sleep(until: time, tolerance: .zero, clock: .continuous)
                group.addTask {
                    _ = try await orchestrator.update(
                        Scene.app,
                        Scene.activity(number),
                        UpdateRequest(contentState: Scene.state(number))
                    )
                    return (number, Post(began: time, ended: .now))
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
