import APITypes
import ActivityModel
import Foundation
import JSON
import Testing

@testable import tally

@Suite("Watching an activity")
struct WatchTests {
    private static func activity(
        _ state: ActivityState,
        revision: Revision = 2,
        current: Int = 3,
        pending: Int = 0,
        starting: Int = 0,
        waiting: Int = 0,
        enrolling: Bool = false,
        failed: Int = 0,
        withheld: Int = 0
    ) -> ActivityResource {
        var progress = DeliveryProgress()
        progress.destinations = current + pending
        progress.current = current
        progress.pending = pending
        progress.waitingForToken = waiting
        var starts = StartProgress()
        starts.pending = starting
        starts.enrolling = enrolling
        starts.failed = failed
        starts.withheld = withheld
        return ActivityResource(
            activityID: ActivityID(stored: "final"),
            type: ActivityTypeName(stored: "Game"),
            environment: .production,
            state: state,
            revision: revision,
            timestamp: 1,
            delivery: .tokens,
            contentState: [:],
            attributes: [:],
            createdAt: Instant(unixSeconds: 0),
            progress: progress,
            starts: starts
        )
    }

    @Test("a look that shows nothing new is no news")
    func news() {
        var watch = ActivityWatch(untilCurrent: false)
        let looks = [
            Self.activity(.live), Self.activity(.live), Self.activity(.live, revision: 3),
            Self.activity(.live, revision: 3, current: 2, pending: 1),
        ]
        var isNews: [Bool] = []
        for look in looks { isNews.append(watch.take(look) != nil) }
        #expect(isNews == [true, false, true, true])
    }

    @Test(
        "it is over when the end has reached every phone, or earlier where that is asked for",
        arguments: [
            (ActivityState.live, 0, 0, false, true), (.live, 1, 0, false, false), (.live, 0, 1, false, false),
            (.ended, 1, 0, false, false), (.ended, 0, 0, true, true), (.scheduled, 0, 0, false, true),
        ]
    )
    func end(state: ActivityState, pending: Int, starting: Int, isOver: Bool, isOverUntilCurrent: Bool) {
        for (untilCurrent, expected) in [(false, isOver), (true, isOverUntilCurrent)] {
            var watch = ActivityWatch(untilCurrent: untilCurrent)
            #expect(!watch.isOver)
            _ = watch.take(Self.activity(state, pending: pending, starting: starting))
            #expect(watch.isOver == expected, "until current: \(untilCurrent)")
        }
    }

    @Test("a phone that has not reported its token is not current; after the end it is not waited for")
    func waitingForToken() {
        for (state, isOver) in [(ActivityState.live, false), (.ended, true)] {
            var watch = ActivityWatch(untilCurrent: true)
            _ = watch.take(Self.activity(state, current: 0, waiting: 1))
            #expect(watch.isOver == isOver)
        }
    }

    @Test("an audience whose phones are still being added is not current, and the line says so")
    func enrolling() throws {
        var watch = ActivityWatch(untilCurrent: true)
        let look = watch.take(Self.activity(.live, current: 0, enrolling: true))
        #expect(!watch.isOver)
        let text = try #require(look).text(at: Date(timeIntervalSince1970: 0), style: Style(isColoured: false))
        #expect(text.hasSuffix(", adding phones"))
        #expect(Self.activity(.live, current: 0, enrolling: true).text.contains("pending, adding phones"))
        #expect(!Self.activity(.live).text.contains("adding"))
        _ = watch.take(Self.activity(.live))
        #expect(watch.isOver)
    }

    @Test("it is a failure that no phone has the newest state because starts failed, and the line counts them")
    func failedStarts() throws {
        var watch = ActivityWatch(untilCurrent: true)
        let look = watch.take(Self.activity(.live, current: 0, failed: 130, withheld: 2))
        #expect(watch.isOver)
        #expect(watch.failure?.hasPrefix("No phone has it: 130 starts failed, 2 are withheld.") == true)
        let text = try #require(look).text(at: Date(timeIntervalSince1970: 0), style: Style(isColoured: false))
        #expect(text.hasSuffix("0 of 0 current, 2 starts withheld, 130 starts failed"))
        _ = watch.take(Self.activity(.live, current: 1, failed: 130))
        #expect(watch.isOver && watch.failure == nil)
        _ = watch.take(Self.activity(.live, current: 0))
        #expect(watch.isOver && watch.failure == nil)
    }

    @Test("a line says how far the newest state has come, and what is in the way")
    func line() throws {
        var watch = ActivityWatch(untilCurrent: false)
        let look = watch.take(Self.activity(.live, current: 2, pending: 1, starting: 4))
        let news = try #require(look)
        let text = news.text(at: Date(timeIntervalSince1970: 45_296), style: Style(isColoured: false))
        #expect(text == "12:34:56  live  revision 2  2 of 3 current, 1 pending, 4 starting")
    }
}
