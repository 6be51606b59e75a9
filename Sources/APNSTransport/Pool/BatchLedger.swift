internal import HTTP2Engine

/// The state of each push of a batch. It is pure: no clock, no connection.
///
/// A push is waiting, in flight or settled; it is settled exactly once. A push costs twelve bytes.
struct BatchLedger {
    /// The location of a push in flight.
    struct Flight: Equatable {
        /// Its stream.
        var stream: HTTP2StreamID?
        /// The number of its connection in the pool, from 1.
        var connection: UInt16
        /// The pool's tick when it left, modulo 256.
        var tick: UInt8

        fileprivate static let waiting = Flight(stream: nil, connection: 0, tick: 0)
        fileprivate static let settled = Flight(stream: nil, connection: 0, tick: 1)

        /// Whether this is a push in flight.
        fileprivate var isAloft: Bool { connection != 0 }
    }

    private var flights: [Flight]
    /// The pushes from this index on have never been taken.
    private var next = 0
    /// Pushes that were taken and put back.
    private var returned: [UInt32] = []

    /// The number of accepted pushes.
    private(set) var accepted = 0
    /// The settled pushes that were not accepted.
    private(set) var exceptions: [BatchOutcome.Exception] = []
    /// The number of pushes in flight.
    private(set) var aloft = 0

    /// Creates a ledger of `count` waiting pushes.
    init(count: Int) {
        flights = Array(repeating: .waiting, count: count)
    }

    /// The number of pushes.
    var count: Int { flights.count }

    /// The number of pushes that may be taken.
    var waiting: Int { flights.count - next + returned.count }

    /// Whether every push is settled.
    var isComplete: Bool { accepted + exceptions.count == flights.count }

    /// The next push to send, if any. The caller must immediately call ``sent(_:_:)``, ``putBack(_:)`` or settle it.
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

    /// Takes up to `limit` pushes, sends each, and counts those that have left. False if one cannot leave; it waits again.
    ///
    /// - `send`: says where the push is then; `nil` if it cannot leave. If it throws, settle the taken push.
    mutating func send<Failure: Error>(
        upTo limit: Int,
        counting sent: inout Int,
        _ send: (Int) throws(Failure) -> Flight?
    ) throws(Failure) -> Bool {
        while sent < limit, let index = take() {
            guard let flight = try send(index) else {
                putBack(index)
                return false
            }
            self.sent(index, flight)
            sent += 1
        }
        return true
    }

    /// Records that the taken push has left.
    mutating func sent(_ index: Int, _ flight: Flight) {
        flights[index] = flight
        aloft += 1
    }

    /// Returns a taken or sent push, which was certainly not processed, to the waiting ones. False if it is settled.
    @discardableResult
    mutating func putBack(_ index: Int) -> Bool {
        guard land(index) else {
            return false
        }
        flights[index] = .waiting
        returned.append(UInt32(index))
        return true
    }

    /// Records that the push was accepted. False if it was settled before.
    @discardableResult
    mutating func accept(_ index: Int) -> Bool {
        guard land(index) else {
            return false
        }
        flights[index] = .settled
        accepted += 1
        return true
    }

    /// Records the outcome of the push. False if it was settled before.
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

    /// Settles all waiting pushes.
    mutating func settleWaiting(_ outcome: PushOutcome) {
        while let index = take() {
            settle(index, outcome)
        }
    }

    /// Settles the taken push that did not leave, and all waiting pushes.
    mutating func settleTaken(_ outcome: PushOutcome) {
        for index in 0..<next where flights[index] == .waiting && !returned.contains(UInt32(index)) {
            settle(index, outcome)
        }
        settleWaiting(outcome)
    }

    /// Settles the pushes in flight that left `age` ticks or more before `tick`. Returns their locations.
    mutating func settleAloft(at tick: UInt8, age: UInt8, _ outcome: PushOutcome) -> [Flight] {
        guard aloft > 0 else {
            return []
        }
        var overdue: [Flight] = []
        // A push that was never taken cannot be in flight.
        for index in 0..<next where flights[index].isAloft && tick &- flights[index].tick >= age {
            overdue.append(flights[index])
            settle(index, outcome)
        }
        return overdue
    }

    /// The location of a push in flight; `nil` for any other.
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
