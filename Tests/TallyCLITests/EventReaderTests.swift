import APITypes
import ActivityModel
import ArgumentParser
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

    @Test("a limit counts the events that are shown, over all pages, and says where the rest begins")
    func limit() {
        var pages = EventPages(cursor: nil, oldest: Instant(unixSeconds: 10), remaining: 2)
        let first = pages.take(Page(items: [Self.event("1-1", at: 9), Self.event("1-2", at: 10)], nextCursor: "1-9"))
        #expect(first.map(\.id) == ["1-2"])
        #expect(!pages.isAtEnd && !pages.isCut && pages.cursor == "1-9")
        let second = pages.take(Page(items: [Self.event("2-1", at: 11), Self.event("2-2", at: 12)]))
        #expect(second.map(\.id) == ["2-1"])
        #expect(pages.isAtEnd && pages.isCut && pages.cursor == "2-1")
        var exact = EventPages(cursor: nil, oldest: nil, remaining: 1)
        #expect(exact.take(Page(items: [Self.event("1-1", at: 1)])).count == 1)
        #expect(exact.isAtEnd && !exact.isCut)
    }

    @Test("the limit is known if it is given, and 100 for a page if it is not")
    func givenLimit() throws {
        let bare = try #require(try TallyCommand.parseAsRoot(["events", "--since", "10m"]) as? Events)
        #expect(bare.page.limit == nil && bare.page.request.limit == 100)
        let given = try #require(try TallyCommand.parseAsRoot(["events", "--follow", "--limit", "5"]) as? Events)
        #expect(given.page.limit == 5 && given.page.request.limit == 5)
    }

    @Test("an event is one line: when, what, of whom, and its details")
    func line() {
        #expect(
            Self.event("1-1", at: 0).line(Style(isColoured: false))
                == "1970-01-01T00:00:00Z  demoted  com.example final  revision=3 reason=over_budget"
        )
    }
}
