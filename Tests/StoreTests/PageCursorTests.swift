import APITypes
import ActivityModel
import JSON
import Testing

@testable import Store

@Suite("Page cursors")
struct PageCursorTests {
    @Test("A cursor is read as it was made", arguments: [[], ["a"], ["1671375600", "ä\"~"]])
    func roundTrip(values: [String]) {
        #expect(PageCursor(PageCursor(values: values).text)?.values == values)
    }

    @Test("Anything else is refused", arguments: ["", "x", "!!", "W10=", "WzFd", "e30"])
    func refused(text: String) {
        #expect(PageCursor(text) == nil)
    }

    @Test("A list is cut behind its limit, and goes on behind the last item that was shown")
    func cut() throws {
        let items = (1...3).map {
            EventResource(id: String($0), at: Instant(unixSeconds: 0), kind: "demoted", detail: [:])
        }
        let page = Page.cut(items, of: .audit, limit: 2) { [$0.id] }
        #expect(page.items.map(\.id) == ["1", "2"])
        let cursor = try #require(page.nextCursor.flatMap { PageCursor($0) })
        #expect(Array(cursor.columns(in: .audit)) == ["2"])
        #expect(Page.cut(Array(items.prefix(2)), of: .audit, limit: 2) { [$0.id] }.nextCursor == nil)
    }

    @Test("A cursor of another list is refused, also if both lists are ordered by columns of the same types")
    func otherList() throws {
        let page = PageRequest(cursor: PageCursor(in: .cards, ["1", "2"]).text)
        let place = try page.position(in: .cards, Int64.self, Int32.self)
        #expect(place?.0 == 1 && place?.1 == 2)
        #expect(throws: PageCursor.refused) { _ = try page.position(in: .cards, Int64.self) }
        #expect(throws: PageCursor.refused) { _ = try page.position(in: .cards, Int64.self, Int32.self, Int16.self) }
        for other in PagedList.allCases where other != .cards {
            #expect(throws: PageCursor.refused) { _ = try page.position(in: other, Int64.self, Int32.self) }
        }
        #expect(try PageRequest().position(in: .cards, Int64.self) == nil)
    }

    @Test("A cursor that an earlier daemon gave out still works: it does not name its list")
    func earlier() throws {
        let page = PageRequest(cursor: PageCursor(values: ["1", "2"]).text)
        let place = try page.position(in: .cards, Int64.self, Int32.self)
        #expect(place?.0 == 1 && place?.1 == 2)
        #expect(throws: PageCursor.refused) { _ = try page.position(in: .cards, Int64.self) }
    }
}
