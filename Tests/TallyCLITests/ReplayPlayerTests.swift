import APITypes
import ActivityModel
import JSON
import Synchronization
import Testing

@testable import MatchReplay
@testable import tally

/// A clock that jumps to where it is asked to sleep until, and remembers.
private final class JumpingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Mutex(Duration.zero)
    var now: Instant { Instant(offset: time.withLock { $0 }) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline.offset) }
    }

    var milliseconds: Int64 { Int64(now.offset / .milliseconds(1)) }
}

private struct Refused: Error {}

@Suite("Replaying")
struct ReplayPlayerTests {
    private static func file(at seconds: [Int64], activities: [String] = ["a"]) throws -> ReplayFile {
        let posts = seconds.enumerated().map { index, second in
            ReplayPost(
                atSeconds: second,
                kind: index == 0 ? .start : .update,
                mustDeliver: false,
                contentState: ["n": .number(JSONNumber(index))]
            )
        }
        return ReplayFile(
            type: ActivityTypeName(stored: "Game"),
            attributes: [:],
            activities: activities.map {
                ReplayActivity(activityID: ActivityID(stored: $0), delivery: .tokens, audience: Audience())
            },
            posts: posts
        )
    }

    @Test("posts go out at their times, counted from the first", arguments: [(1.0, 1_000), (120.0, 8), (0.5, 2_000)])
    func times(speed: Double, second: Int64) async throws {
        let clock = JumpingClock()
        let player = ReplayPlayer(
            file: try Self.file(at: [300, 301, 420]),
            speed: speed,
            post: { _, _ in .init(revision: 1, timestamp: nil) },
            now: { clock.milliseconds }
        )
        var entries: [ReplayPlayer.Entry] = []
        try await player.play(clock: clock, accepted: { entries.append($0) }, advanced: { _ in })
        #expect(entries.map(\.postedAt) == [0, second, Int64((120_000 / speed).rounded())])
    }

    @Test("every post goes to every activity before the next one begins")
    func order() async throws {
        let log = Mutex<[String]>([])
        let player = ReplayPlayer(
            file: try Self.file(at: [0, 1, 2], activities: ["a", "b"]),
            speed: 1,
            post: { post, activity in
                log.withLock { $0.append("\(post.atSeconds)\(activity.activityID)") }
                return .init(revision: post.atSeconds + 1, timestamp: nil)
            },
            now: { 0 }
        )
        var advances: [Int] = []
        var entries: [ReplayPlayer.Entry] = []
        try await player.play(
            clock: JumpingClock(),
            accepted: { entries.append($0) },
            advanced: { advances.append($0) }
        )
        #expect(log.withLock { $0 }.map { $0.first } == ["0", "0", "1", "1", "2", "2"])
        #expect(Set(log.withLock { $0 }).count == 6)
        #expect(advances == [1, 2, 3])
        #expect(entries.map(\.acceptance.revision) == [1, 1, 2, 2, 3, 3])
    }

    @Test("a post that fails ends the replay; what other activities accepted is still reported")
    func failure() async throws {
        let player = ReplayPlayer(
            file: try Self.file(at: [0, 1, 2], activities: ["a", "b"]),
            speed: 1,
            post: { post, activity in
                if post.atSeconds == 1, activity.activityID.rawValue == "b" { throw Refused() }
                return .init(revision: 1, timestamp: nil)
            },
            now: { 0 }
        )
        var accepted: [String] = []
        var advances: [Int] = []
        await #expect(throws: Refused.self) {
            try await player.play(clock: JumpingClock()) { entry in
                accepted.append(entry.activityID.rawValue)
            } advanced: { done in
                advances.append(done)
            }
        }
        #expect(accepted.sorted() == ["a", "a", "b"])
        #expect(advances == [1])
    }

    @Test("a line of the log has all that a judge needs")
    func logLine() {
        let entry = ReplayPlayer.Entry(
            activityID: ActivityID(stored: "a"),
            kind: .update,
            acceptance: .init(revision: 2, timestamp: nil),
            postedAt: 1_000,
            acceptedAt: 1_005,
            contentState: ["homeScore": 1]
        )
        let line =
            #"{"activity_id":"a","kind":"update","revision":2,"timestamp":null,"posted_at_ms":1000,"accepted_at_ms":1005,"#
            + #""content_state":{"homeScore":1}}"#
        #expect(entry.json.text == line)
    }

    @Test("the summary counts posts and keeps the newest revision of each activity")
    func summary() {
        var summary = ReplaySummary([ActivityID(stored: "a"), ActivityID(stored: "bcd")])
        for revision in [Int64(1), 3, 2] {
            summary.add(
                .init(
                    activityID: ActivityID(stored: "a"),
                    kind: .update,
                    acceptance: .init(revision: revision, timestamp: nil),
                    postedAt: 0,
                    acceptedAt: 0
                )
            )
        }
        #expect(
            summary.text == """
                ACTIVITY  POSTS  REVISION
                a             3         3
                bcd           0         0
                """
        )
        #expect(summary.json["activities"]?[0]?["revision"]?.int64 == 3)
    }
}

@Suite("Progress")
struct ReplayProgressTests {
    @Test("the bar fills", arguments: [(0, 0, "  0"), (1, 0, "  2"), (23, 15, " 50"), (46, 30, "100")])
    func bar(done: Int, filled: Int, percent: String) {
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 30 - filled)
        #expect(ReplayProgress.bar(done: done, total: 46) == "[\(bar)] \(percent) %  \(done)/46")
    }

    @Test("without a terminal there is one line for each tenth")
    func lines() {
        let written = Mutex<[String]>([])
        var progress = ReplayProgress(total: 46, isTerminal: false) { text in written.withLock { $0.append(text) } }
        for done in 1...46 { progress.advance(to: done, label: nil) }
        #expect(written.withLock { $0 }.count == 10)
        #expect(written.withLock { $0 }.allSatisfy { $0.hasSuffix("\n") })
    }

    @Test("on a terminal one line is redrawn, and left at the end")
    func terminal() {
        let written = Mutex<[String]>([])
        var progress = ReplayProgress(total: 2, isTerminal: true) { text in written.withLock { $0.append(text) } }
        progress.advance(to: 1, label: "23' Messi")
        progress.advance(to: 2, label: nil)
        let texts = written.withLock { $0 }
        #expect(texts.allSatisfy { $0.hasPrefix("\r") })
        #expect(texts[0].contains("23' Messi"))
        #expect(texts.map { $0.hasSuffix("\n") } == [false, true])
    }
}
