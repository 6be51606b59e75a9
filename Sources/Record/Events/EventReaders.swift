/// Who follows the events, and what is kept in memory for them. Pure: it is told what happens and says who is to be
/// woken; time is an argument.
///
/// `Reader` is whatever wakes one of them.
struct EventReaders<Reader: Sendable>: Sendable {
    /// What a look at the database is for.
    enum Look: Equatable {
        /// Nobody wants to know.
        case nothing
        /// The window is to begin where events end by now.
        case open
        /// The window is to be brought up to date from here on.
        case readOn(after: EventCursor)
    }

    private struct Waiting: Sendable {
        let reader: Reader
        let deadline: ContinuousClock.Instant
    }

    /// How long the window is kept up to date for readers that may be back in a moment.
    static var rest: Duration { .seconds(30) }
    /// How many readers may read from the database at the same time; it has other work to do.
    static var mostCatchingUp: Int { 4 }

    private let capacity: Int
    /// Nil while nobody reads.
    private var window: EventWindow?
    private var waiting: [Int: Waiting] = [:]
    /// The tickets of those who may read from the database.
    private var catchingUp: Set<Int> = []
    /// Who wants to, in the order of their coming.
    private var line: [(ticket: Int, waiting: Waiting)] = []
    private var nextTicket = 0
    private var lastRead: ContinuousClock.Instant
    private(set) var isStopped = false

    /// Whether somebody waits for events, or may be back in a moment.
    var isNeeded: Bool { window != nil || !waiting.isEmpty || !line.isEmpty }

    /// - Parameters:
    ///   - capacity: how many events are kept in memory.
    ///   - now: when it begins.
    init(capacity: Int, now: ContinuousClock.Instant) {
        self.capacity = capacity
        lastRead = now
    }

    // MARK: Reading

    /// What a reader gets who has read up to `place`; nil: it has to ask the database.
    mutating func page(
        after place: EventCursor,
        matching filter: EventFilter,
        limit: Int,
        now: ContinuousClock.Instant
    ) -> EventPage? {
        lastRead = now
        return window?.page(after: place, matching: filter, limit: limit)
    }

    // MARK: Catching up

    /// A reader wants to read from the database.
    ///
    /// - Returns: Whether it waits in line for that, until `deadline` at the latest.
    mutating func standInLine(_ reader: Reader, as ticket: Int, until deadline: ContinuousClock.Instant) -> Bool {
        if isStopped { return false }
        if catchingUp.count < Self.mostCatchingUp {
            catchingUp.insert(ticket)
            return false
        }
        line.append((ticket, Waiting(reader: reader, deadline: deadline)))
        return true
    }

    /// Whether it is a reader's turn to read from the database; whose turn it is says ``endCatchingUp(_:)`` afterwards.
    func mayCatchUp(_ ticket: Int) -> Bool { catchingUp.contains(ticket) }

    /// - Returns: The next in line, whose turn it is now.
    mutating func endCatchingUp(_ ticket: Int) -> Reader? {
        guard catchingUp.remove(ticket) != nil, !line.isEmpty else { return nil }
        let next = line.removeFirst()
        catchingUp.insert(next.ticket)
        return next.waiting.reader
    }

    // MARK: Waiting

    /// Names one wait.
    mutating func ticket() -> Int {
        defer { nextTicket += 1 }
        return nextTicket
    }

    /// A reader that has found nothing after `place` waits to be woken, until `deadline` at the latest.
    ///
    /// - Returns: Whether it waits. If not, there is something by now, or nothing will come any more.
    mutating func wait(
        _ reader: Reader,
        as ticket: Int,
        after place: EventCursor,
        until deadline: ContinuousClock.Instant
    ) -> Bool {
        if isStopped { return false }
        if let window, window.end > place { return false }
        waiting[ticket] = Waiting(reader: reader, deadline: deadline)
        return true
    }

    /// A reader does not want to wait any more.
    ///
    /// - Returns: It, if it waited.
    mutating func leave(_ ticket: Int) -> Reader? {
        if let place = line.firstIndex(where: { $0.ticket == ticket }) { return line.remove(at: place).waiting.reader }
        return waiting.removeValue(forKey: ticket)?.reader
    }

    // MARK: Looking

    mutating func look(now: ContinuousClock.Instant) -> Look {
        if waiting.isEmpty, lastRead.duration(to: now) > Self.rest { window = nil }
        if let window { return .readOn(after: window.end) }
        return waiting.isEmpty ? .nothing : .open
    }

    /// The window begins at a place.
    ///
    /// - Returns: All that wait: what they have missed until now they ask the database for.
    mutating func opened(at place: EventCursor) -> [Reader] {
        window = EventWindow(at: place, capacity: capacity)
        return takeAll()
    }

    /// The database had this after the window's end.
    ///
    /// - Returns: Who is to look at it.
    mutating func append(_ page: EventPage) -> [Reader] {
        window?.append(page)
        return page.events.isEmpty ? [] : takeAll()
    }

    /// - Returns: Who has waited for long enough.
    mutating func due(now: ContinuousClock.Instant) -> [Reader] {
        let due = waiting.filter { $0.value.deadline <= now }
        for ticket in due.keys { waiting[ticket] = nil }
        let tired = line.filter { $0.waiting.deadline <= now }
        line.removeAll { $0.waiting.deadline <= now }
        return due.values.map(\.reader) + tired.map(\.waiting.reader)
    }

    /// From now on nobody waits.
    ///
    /// - Returns: All that waited.
    mutating func stop() -> [Reader] {
        isStopped = true
        defer { line = [] }
        return takeAll() + line.map(\.waiting.reader)
    }

    private mutating func takeAll() -> [Reader] {
        defer { waiting = [:] }
        return waiting.values.map(\.reader)
    }
}
