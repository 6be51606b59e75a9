import APITypes
import ActivityModel
import JSON
import Testing

@testable import tally

@Suite("Reading events")
struct EventPagesTests {
    private static func event(_ id: String, at seconds: Int64) -> EventResource {
        EventResource(
            id: id,
            at: Instant(unixSeconds: seconds),
            kind: "demoted",
            bundleID: BundleID(stored: "com.example"),
            activityID: ActivityID(stored: "final"),
            detail: ["revision": 3, "reason": "over_budget"]
        )
    }

    @Test("it goes on after each page, and after the last one's last event; an empty page changes nothing")
    func goesOn() {
        var pages = EventPages(cursor: nil, oldest: nil)
        #expect(pages.next.cursor == nil)
        let first = pages.take(Page(items: [Self.event("1-1", at: 1)], nextCursor: "1-9"))
        #expect(first.map(\.id) == ["1-1"])
        #expect(!pages.isAtEnd && pages.next.cursor == "1-9")
        _ = pages.take(Page(items: [], nextCursor: "2-9"))
        #expect(!pages.isAtEnd && pages.next.cursor == "2-9")
        _ = pages.take(Page(items: [Self.event("3-1", at: 2), Self.event("3-2", at: 2)]))
        #expect(pages.isAtEnd && pages.next.cursor == "3-2")
        _ = pages.take(Page(items: []))
        #expect(pages.isAtEnd && pages.next.cursor == "3-2")
    }

    @Test("events before the time that is asked for are read and left out")
    func since() {
        var pages = EventPages(cursor: nil, oldest: Instant(unixSeconds: 10))
        let events = [Self.event("1-1", at: 9), Self.event("1-2", at: 10)]
        let wanted = pages.take(Page(items: events))
        #expect(wanted.map(\.id) == ["1-2"])
        #expect(pages.next.cursor == "1-2")
    }

    @Test("an event is one line: when, what, of whom, and its details")
    func line() {
        #expect(
            Self.event("1-1", at: 0).line(Style(isColoured: false))
                == "1970-01-01T00:00:00Z  demoted  com.example final  revision=3 reason=over_budget"
        )
    }
}
