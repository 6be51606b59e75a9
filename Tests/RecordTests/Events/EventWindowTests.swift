import APITypes
import ActivityModel
import JSON
import TestSupport
import Testing

@testable import Record
@testable import Store

@Suite("The window of new events") struct EventWindowTests {
    private static func event(_ number: Int64, device: String? = nil) -> EventRecord {
        EventRecord(
            cursor: EventCursor(transaction: UInt64(number / 3), event: number),
            at: Instant(unixSeconds: number),
            kind: .clockSkew,
            app: nil,
            environment: nil,
            activity: nil,
            device: device.map(DeviceID.init(stored:)),
            detail: [:]
        )
    }

    @Test("Readers at any pace get every event once and in order, or are sent to the database")
    func everyEventOnce() {
        for seed in UInt64(1)...50 {
            var random = SeededRandom(seed: seed)
            var window = EventWindow(at: .oldest, capacity: 20)
            var written: [EventRecord] = []
            var places = Array(repeating: EventCursor.oldest, count: 5)
            var read: [[EventRecord]] = Array(repeating: [], count: 5)
            for _ in 0..<300 {
                if Bool.random(using: &random) {
                    let count = Int.random(in: 0...7, using: &random)
                    let events = (0..<count).map { Self.event(Int64(written.count + 1 + $0)) }
                    written += events
                    let next = written.last?.cursor ?? .oldest
                    window.append(EventPage(events: events, next: next, isLast: true))
                }
                let reader = Int.random(in: 0..<5, using: &random)
                // The fifth takes one at a time and so falls behind.
                let limit = reader == 4 ? 1 : Int.random(in: 1...30, using: &random)
                if let page = window.page(after: places[reader], matching: EventFilter(), limit: limit) {
                    read[reader] += page.events
                    places[reader] = page.next
                } else {
                    // What the database would say.
                    let rest = written.filter { $0.cursor > places[reader] }.prefix(limit)
                    read[reader] += rest
                    places[reader] = rest.last?.cursor ?? places[reader]
                }
            }
            for story in read { #expect(story == Array(written.prefix(story.count)), "seed \(seed)") }
        }
    }

    @Test("It holds no more than its capacity, and says where it begins")
    func capacity() {
        var window = EventWindow(at: .oldest, capacity: 8)
        let events = (1...9).map { Self.event($0) }
        window.append(EventPage(events: events, next: events[8].cursor, isLast: true))
        #expect(window.start == events[2].cursor)
        #expect(window.page(after: events[1].cursor, matching: EventFilter(), limit: 9) == nil)
        let rest = window.page(after: events[2].cursor, matching: EventFilter(), limit: 9)
        #expect(rest?.events == Array(events[3...]))
    }

    @Test("What a filter leaves out moves its reader on all the same")
    func filter() throws {
        var window = EventWindow(at: .oldest, capacity: 8)
        let events = [Self.event(1, device: "a"), Self.event(2, device: "b"), Self.event(3, device: "a")]
        window.append(EventPage(events: events, next: EventCursor(transaction: 9, event: 0), isLast: true))
        let none = window.page(after: .oldest, matching: EventFilter(device: DeviceID(stored: "c")), limit: 5)
        #expect(none?.events.isEmpty == true)
        #expect(none?.next == EventCursor(transaction: 9, event: 0))
        let first = window.page(after: .oldest, matching: EventFilter(device: DeviceID(stored: "a")), limit: 1)
        #expect(first?.events == [events[0]])
        #expect(first?.next == events[0].cursor)
    }

    @Test("A reader gets what it asked for by app, activity, device and kind, and nothing else")
    func everyFilter() {
        func event(
            _ number: Int64,
            _ kind: Event.Kind,
            _ app: String?,
            _ activity: String?,
            _ device: String?
        )
            -> EventRecord
        {
            EventRecord(
                cursor: EventCursor(transaction: 1, event: number),
                at: Instant(unixSeconds: number),
                kind: kind,
                app: app.map(BundleID.init(stored:)),
                activity: activity.map(ActivityID.init(stored:)),
                device: device.map(DeviceID.init(stored:))
            )
        }
        let events = [
            event(1, .demoted, "com.example.a", "x", "d1"), event(2, .demoted, "com.example.b", "x", "d1"),
            event(3, .tokenDied, "com.example.a", "y", "d2"), event(4, .clockSkew, nil, nil, nil),
        ]
        var window = EventWindow(at: .oldest, capacity: 8)
        window.append(EventPage(events: events, next: events[3].cursor, isLast: true))
        let filters: [(EventFilter, [Int64])] = [
            (EventFilter(), [1, 2, 3, 4]), (EventFilter(app: BundleID(stored: "com.example.a")), [1, 3]),
            (EventFilter(activity: ActivityID(stored: "x")), [1, 2]),
            (EventFilter(device: DeviceID(stored: "d2")), [3]),
            (EventFilter(kinds: [.demoted, .clockSkew]), [1, 2, 4]),
            (EventFilter(app: BundleID(stored: "com.example.a"), kinds: [.demoted]), [1]),
        ]
        for (filter, expected) in filters {
            let page = window.page(after: .oldest, matching: filter, limit: 9)
            #expect(page?.events.map(\.cursor.event) == expected)
        }
    }

    @Test("A page that comes late does not set the window back")
    func late() {
        var window = EventWindow(at: EventCursor(transaction: 9, event: 0), capacity: 8)
        window.append(EventPage(events: [], next: EventCursor(transaction: 7, event: 0), isLast: true))
        #expect(window.end == EventCursor(transaction: 9, event: 0))
    }

    @Test("A reader whom another daemon has brought further is not set back")
    func readerAhead() {
        let window = EventWindow(at: .oldest, capacity: 8)
        let place = EventCursor(transaction: 7, event: 0)
        #expect(window.page(after: place, matching: EventFilter(), limit: 5)?.next == place)
    }
}
