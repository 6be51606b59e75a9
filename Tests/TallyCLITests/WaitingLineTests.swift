import Synchronization
import Testing

@testable import tally

/// A clock that jumps to where it is asked to sleep until, so many times; then the sleeper is cancelled.
private final class EndingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state: Mutex<(time: Duration, sleeps: Int)>
    var now: Instant { Instant(offset: state.withLock { $0.time }) }
    var minimumResolution: Duration { .zero }

    init(sleeps: Int) { state = Mutex((.seconds(100), sleeps)) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try state.withLock { state in
            guard state.sleeps > 0 else { throw CancellationError() }
            state.sleeps -= 1
            state.time = max(state.time, deadline.offset)
        }
    }
}

@Suite("Waiting on a terminal")
struct WaitingLineTests {
    private func written(sleeps: Int) async -> [String] {
        let log = Mutex<[String]>([])
        let line = WaitingLine(text: "Deleting com.example.app") { text in log.withLock { $0.append(text) } }
        await line.run(clock: EndingClock(sleeps: sleeps))
        return log.withLock { $0 }
    }

    @Test("a line says what is under way and for how long, is written over, and goes at the end")
    func line() async {
        #expect(
            await written(sleeps: 2) == [
                "\rDeleting com.example.app: 1 s\u{1B}[K",
                "\rDeleting com.example.app: 2 s\u{1B}[K", "\r\u{1B}[K",
            ]
        )
    }

    @Test("what is done within a second leaves no trace")
    func short() async {
        #expect(await written(sleeps: 0).isEmpty)
    }
}
