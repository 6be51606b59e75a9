import APITypes
import ActivityModel
import Store
import Testing

@testable import Record

@Suite("Who follows the events") struct EventReadersTests {
    private static let now = ContinuousClock.now

    private var readers = EventReaders<String>(capacity: 100, now: now)

    private func place(_ transaction: UInt64) -> EventCursor { EventCursor(transaction: transaction, event: 0) }

    private func page(_ transactions: ClosedRange<UInt64>) -> EventPage {
        let events = transactions.map {
            EventRecord(
                cursor: EventCursor(transaction: $0, event: 1),
                at: Instant(unixSeconds: 0),
                kind: .clockSkew
            )
        }
        return EventPage(events: events, next: place(transactions.upperBound + 1), isLast: true)
    }

    private func nothing(until transaction: UInt64) -> EventPage {
        EventPage(events: [], next: place(transaction), isLast: true)
    }

    // What asks and changes at once stands in functions of its own: `#expect` lends nothing that can be changed.

    private mutating func waits(
        _ reader: String,
        as ticket: Int? = nil,
        after place: EventCursor,
        until seconds: Int = 600
    ) -> Bool {
        readers.wait(
            reader,
            as: ticket ?? readers.ticket(),
            after: place,
            until: Self.now + .seconds(seconds)
        )
    }

    private mutating func read(after place: EventCursor, at seconds: Int = 0) -> EventPage? {
        readers.page(after: place, matching: EventFilter(), limit: 10, now: Self.now + .seconds(seconds))
    }

    private mutating func look(after seconds: Int = 0) -> EventReaders<String>.Look {
        readers.look(now: Self.now + .seconds(seconds))
    }

    private mutating func open(at place: EventCursor) -> [String] { readers.opened(at: place).sorted() }
    private mutating func append(_ page: EventPage) -> [String] { readers.append(page).sorted() }
    private mutating func due(after seconds: Int) -> [String] { readers.due(now: Self.now + .seconds(seconds)) }
    private mutating func leave(_ ticket: Int) -> String? { readers.leave(ticket) }
    private mutating func standsInLine(_ ticket: Int, until seconds: Int = 600) -> Bool {
        readers.standInLine("\(ticket)", as: ticket, until: Self.now + .seconds(seconds))
    }
    private mutating func endCatchingUp(_ ticket: Int) -> String? { readers.endCatchingUp(ticket) }
    private mutating func stopped() -> [String] { readers.stop().sorted() }

    @Test("The database is asked for nobody; the first who waits makes it be asked where events end")
    mutating func first() {
        #expect(read(after: place(5)) == nil)
        #expect(look() == .nothing)
        #expect(waits("a", after: place(5)))
        #expect(look() == .open)
    }

    @Test("When the window begins, all who wait look for what they have missed, also those that were as far")
    mutating func opened() {
        #expect(waits("a", after: place(5)))
        #expect(waits("b", after: place(7)))
        #expect(open(at: place(7)) == ["a", "b"])
        #expect(read(after: place(5)) == nil, "the database knows")
        #expect(read(after: place(7))?.events.isEmpty == true)
        #expect(look() == .readOn(after: place(7)))
    }

    @Test("What comes between a reader's look and its wait is not missed")
    mutating func between() {
        _ = open(at: place(5))
        let seen = read(after: place(5))
        #expect(seen?.events.isEmpty == true)
        #expect(append(page(5...5)) == [], "nobody waits yet")
        #expect(!waits("a", after: place(5)))
        #expect(read(after: place(5))?.events.count == 1)
        #expect(waits("a", after: place(6)))
    }

    @Test("A window that begins between a reader's look at the database and its wait does not hide what is before it")
    mutating func openedBetween() {
        #expect(read(after: place(5)) == nil)
        #expect(waits("other", after: place(9)))
        _ = open(at: place(9))
        #expect(!waits("a", after: place(5)))
        #expect(read(after: place(5)) == nil, "the database knows")
    }

    @Test("News wake all who wait, once; a look that brings none wakes nobody")
    mutating func news() {
        _ = open(at: place(5))
        #expect(waits("a", after: place(5)))
        #expect(waits("b", after: place(5)))
        #expect(append(nothing(until: 6)) == [])
        #expect(look() == .readOn(after: place(6)))
        #expect(append(page(6...7)) == ["a", "b"])
        #expect(append(page(8...8)) == [])
    }

    @Test("A reader waits until its deadline and no longer")
    mutating func deadline() {
        #expect(waits("a", after: place(5), until: 15))
        #expect(waits("b", after: place(5)))
        #expect(due(after: 14) == [])
        #expect(due(after: 15) == ["a"])
        #expect(due(after: 16) == [])
    }

    @Test("Who leaves is not woken any more, and may do so twice")
    mutating func leaving() {
        let ticket = readers.ticket()
        #expect(waits("a", as: ticket, after: place(5)))
        #expect(leave(ticket) == "a")
        #expect(leave(ticket) == nil)
        #expect(open(at: place(5)) == [])
    }

    @Test("30 s after the last reading the window is let go; a reader who waits or comes back keeps it")
    mutating func rest() {
        _ = open(at: place(5))
        #expect(read(after: place(5)) != nil)
        #expect(look(after: 30) == .readOn(after: place(5)))
        #expect(read(after: place(5), at: 30) != nil)
        #expect(look(after: 60) == .readOn(after: place(5)))
        let ticket = readers.ticket()
        #expect(waits("a", as: ticket, after: place(5)))
        #expect(look(after: 300) == .readOn(after: place(5)))
        #expect(leave(ticket) == "a")
        #expect(look(after: 301) == .nothing)
        #expect(read(after: place(5), at: 301) == nil)
        #expect(waits("b", after: place(5)))
        #expect(look(after: 301) == .open)
    }

    @Test("Four at most read from the database at a time, however many have fallen behind")
    mutating func catchingUp() {
        for ticket in 1...4 { #expect(!standsInLine(ticket)) }
        for ticket in 5...7 { #expect(standsInLine(ticket)) }
        let turns = (1...7).map { readers.mayCatchUp($0) }
        #expect(turns == [true, true, true, true, false, false, false])
        #expect(endCatchingUp(3) == "5", "the others in the order of their coming")
        #expect(leave(6) == "6")
        #expect(endCatchingUp(5) == "7")
        #expect(endCatchingUp(6) == nil, "it never had a turn")
        let next = (5...7).map { readers.mayCatchUp($0) }
        #expect(next == [false, false, true])
        for ticket in [1, 2, 4, 7] { #expect(endCatchingUp(ticket) == nil) }
        for ticket in 8...11 { #expect(!standsInLine(ticket)) }
        #expect(standsInLine(12))
    }

    @Test("Who stands in line is let go at the deadline, or when the daemon stops, and has no turn")
    mutating func lineEnds() {
        for ticket in 1...4 { #expect(!standsInLine(ticket)) }
        #expect(standsInLine(5, until: 15))
        #expect(standsInLine(6))
        #expect(due(after: 14) == [])
        #expect(due(after: 15) == ["5"])
        #expect(stopped() == ["6"])
        #expect(endCatchingUp(1) == nil)
        #expect(!standsInLine(7))
        let turns = (5...7).map { readers.mayCatchUp($0) }
        #expect(turns == [false, false, false])
    }

    @Test("When the daemon stops, all are let go, and nobody waits any more")
    mutating func stop() {
        #expect(waits("a", after: place(5)))
        #expect(waits("b", after: place(5)))
        #expect(stopped() == ["a", "b"])
        #expect(readers.isStopped)
        #expect(!waits("c", after: place(5)))
    }
}
