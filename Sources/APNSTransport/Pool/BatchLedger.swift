internal import HTTP2Engine

/// Where each push of a batch stands. Pure: no clock, no connection.
///
/// A push is waiting, in flight or settled, and is settled exactly once. Costs twelve bytes a push.
struct BatchLedger {
    /// Where a push in flight is.
    struct Flight: Equatable {
        /// Its stream.
        var stream: HTTP2StreamID?
        /// The number of its connection in the pool, from 1.
        var connection: UInt16
        /// The pool's tick at which it left, modulo 256.
        var tick: UInt8

        fileprivate static let waiting = Flight(stream: nil, connection: 0, tick: 0)
        fileprivate static let settled = Flight(stream: nil, connection: 0, tick: 1)

        /// Whether this is a push in flight.
        fileprivate var isAloft: Bool { connection != 0 }
    }

    private var flights: [Flight]
    /// Pushes from here on were never taken.
    private var next = 0
    /// Pushes that were taken and came back.
    private var returned: [UInt32] = []

    /// How many pushes were accepted.
    private(set) var accepted = 0
    /// The settled pushes that were not accepted.
    private(set) var exceptions: [BatchOutcome.Exception] = []
    /// How many pushes are in flight.
    private(set) var aloft = 0

    /// A ledger of `count` waiting pushes.
    init(count: Int) {
        flights = Array(repeating: .waiting, count: count)
    }

    /// How many pushes there are.
    var count: Int { flights.count }

    /// How many pushes may be taken.
    var waiting: Int { flights.count - next + returned.count }

    /// Whether every push is settled.
    var isComplete: Bool { accepted + exceptions.count == flights.count }

    /// The next push to send, or nil. It must be ``sent(_:_:)`` or ``putBack(_:)`` or settled at once.
    mutating func take() -> Int? {
        if let index = returned.popLast() {
            return Int(index)
        }
        guard next < flights.count else {
            return nil
        }
        defer { next += 1 }
        return next
    }

    /// The taken push has left.
    mutating func sent(_ index: Int, _ flight: Flight) {
        flights[index] = flight
        aloft += 1
    }

    /// The push, taken or in flight, was certainly not processed and waits again. False if it is settled.
    @discardableResult
    mutating func putBack(_ index: Int) -> Bool {
        guard land(index) else {
            return false
        }
        flights[index] = .waiting
        returned.append(UInt32(index))
        return true
    }

    /// The push was accepted. False if it was settled before.
    @discardableResult
    mutating func accept(_ index: Int) -> Bool {
        guard land(index) else {
            return false
        }
        flights[index] = .settled
        accepted += 1
        return true
    }

    /// The push has this outcome. False if it was settled before.
    @discardableResult
    mutating func settle(_ index: Int, _ outcome: PushOutcome) -> Bool {
        guard !outcome.isAccepted else {
            return accept(index)
        }
        guard land(index) else {
            return false
        }
        flights[index] = .settled
        exceptions.append(BatchOutcome.Exception(index: index, outcome: outcome))
        return true
    }

    /// Settles all pushes that wait.
    mutating func settleWaiting(_ outcome: PushOutcome) {
        while let index = take() {
            settle(index, outcome)
        }
    }

    /// Settles the push that was taken and did not leave, wherever it is, and all that wait.
    mutating func settleTaken(_ outcome: PushOutcome) {
        for index in 0..<next where flights[index] == .waiting && !returned.contains(UInt32(index)) {
            settle(index, outcome)
        }
        settleWaiting(outcome)
    }

    /// Settles the pushes in flight that left `age` ticks or more before `tick`, and returns where they were.
    mutating func settleAloft(at tick: UInt8, age: UInt8, _ outcome: PushOutcome) -> [Flight] {
        guard aloft > 0 else {
            return []
        }
        var overdue: [Flight] = []
        // What was never taken cannot be in flight.
        for index in 0..<next where flights[index].isAloft && tick &- flights[index].tick >= age {
            overdue.append(flights[index])
            settle(index, outcome)
        }
        return overdue
    }

    /// Where a push in flight is; nil for any other.
    func flight(_ index: Int) -> Flight? {
        flights[index].isAloft ? flights[index] : nil
    }

    private mutating func land(_ index: Int) -> Bool {
        let flight = flights[index]
        guard flight != .settled else {
            return false
        }
        if flight.isAloft {
            aloft -= 1
        }
        return true
    }
}
