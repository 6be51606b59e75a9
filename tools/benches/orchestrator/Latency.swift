import APITypes
import BenchSupport
import Intake
import Orchestrator
import Synchronization

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
        /// The same of the first seconds, which count apart: connections are made and statements planned then.
        let pushAtFirst: Times
    }

    /// How many seconds are first ones.
    private static let first = 2

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
            let atFirst = rate * Self.first
            try await scene.prepareSingles(atFirst + count)
            daemon.sender.reset()
            daemon.sender.noteAnswers()
            let posts = try await post(atFirst + count, to: daemon.orchestrator)
            _ = await daemon.sender.waitForAnswers(atFirst + count)
            let answers = daemon.sender.notedAnswers
            let pushes = posts.compactMap { number, post in
                answers[number].map { (number: number, time: post.began.duration(to: $0)) }
            }
            guard pushes.count == posts.count else {
                throw Mistake("\(posts.count) updates, \(pushes.count) of them pushed")
            }
            return Result(
                perSecond: rate,
                accept: Times(posts.filter { $0.key > atFirst }.values.map { $0.began.duration(to: $0.ended) }),
                push: Times(pushes.filter { $0.number > atFirst }.map(\.time)),
                pushAtFirst: Times(pushes.filter { $0.number <= atFirst }.map(\.time))
            )
        }
    }

    private struct Post: Sendable {
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    private final class Posts: Sendable {
        private let posts = Mutex<[Int: Post]>([:])

        var all: [Int: Post] { posts.withLock { $0 } }

        func add(_ post: Post, number: Int) {
            posts.withLock { $0[number] = post }
        }
    }

    /// Posts at the rate, whatever becomes of the posts before; a post counts from the time at which it was to be made.
    private func post(_ count: Int, to orchestrator: Orchestrator) async throws -> [Int: Post] {
        let began = ContinuousClock.now
        let posts = Posts()
        // Discarding: a task that has ended and whose result nobody has taken yet keeps its memory, some 16 KiB.
        try await withThrowingDiscardingTaskGroup { group in
            for number in 1...count {
                let time = began + .seconds(1) / rate * number
                try await Task.sleep(until: time, tolerance: .zero, clock: .continuous)
                group.addTask {
                    _ = try await orchestrator.intake.update(
                        Scene.app,
                        Scene.activity(number),
                        UpdateRequest(contentState: Scene.state(number)),
                        origin: nil
                    )
                    posts.add(Post(began: time, ended: .now), number: number)
                }
            }
        }
        return posts.all
    }
}
