import Testing

@testable import APNSTransport

@Suite("The state of one connection")
struct ConnectionStateMachineTests {
    private let start = ContinuousClock.now

    private func serving() -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(now: start)
        machine.connected(now: start)
        machine.answered(status: 200, now: start)
        return machine
    }

    @Test("a new connection carries one request until an answer proves its token")
    func proving() {
        var machine = ConnectionStateMachine(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        machine.connected(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1)
        #expect(machine.room(open: 1, available: 999, now: start) == 0)
        #expect(machine.room(open: 0, available: 0, now: start) == 0)
        machine.sent(now: start)
        #expect(machine.answered(status: 403, now: start) == false)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1)
        #expect(machine.answered(status: 410, now: start) == true)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
        #expect(machine.room(open: 10, available: 990, now: start) == 990)
        #expect(machine.answered(status: 200, now: start) == false)
    }

    @Test(
        "an answer proves the token if APNs has looked at the request",
        arguments: [
            (200, true), (201, true), (400, true), (410, true),
            (403, false), (404, false), (413, false), (429, false), (500, false), (503, false),
        ]
    )
    func proof(status: Int, isProof: Bool) {
        var machine = ConnectionStateMachine(now: start)
        machine.connected(now: start)
        #expect(machine.answered(status: status, now: start) == isProof)
    }

    @Test("what it took to open is counted without the time in which there was nothing to send")
    func openingTime() {
        var machine = ConnectionStateMachine(now: start)
        machine.connected(now: start + .milliseconds(30))
        #expect(machine.openingTime == nil)
        machine.sent(now: start + .seconds(60))
        machine.answered(status: 200, now: start + .seconds(60) + .milliseconds(12))
        #expect(machine.openingTime == .milliseconds(42))
    }

    @Test("a refused stream pauses the connection and lowers its limit, which answers raise again")
    func refused() {
        var machine = serving()
        let pause = Duration.milliseconds(100)
        #expect(machine.refused(open: 7, now: start, pause: pause) == start + pause)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        #expect(machine.capacity(maximum: 1000, now: start) == 0)
        #expect(machine.room(open: 0, available: 1000, now: start + pause) == 7)
        #expect(machine.capacity(maximum: 1000, now: start + pause) == 7)
        machine.answered(status: 200, now: start)
        machine.answered(status: 200, now: start)
        #expect(machine.room(open: 5, available: 1000, now: start + pause) == 4)
        #expect(machine.refused(open: 0, now: start + pause, pause: pause) == start + pause * 2)
        #expect(machine.room(open: 0, available: 1000, now: start + pause * 2) == 1)
    }

    @Test("refusals without an answer between pause twice as long each time, and the eighth ends the connection")
    func refusalsInARow() {
        var machine = serving()
        var now = start
        for doubling in 0..<7 {
            let end = machine.refused(open: 0, now: now, pause: .milliseconds(100))
            #expect(end == now + .milliseconds(100 << doubling))
            // Streams that left together count once.
            #expect(machine.refused(open: 0, now: now, pause: .milliseconds(100)) == end)
            now = end ?? now
        }
        var answered = machine
        #expect(machine.refused(open: 0, now: now, pause: .milliseconds(100)) == nil)
        answered.answered(status: 200, now: now)
        #expect(answered.refused(open: 0, now: now, pause: .milliseconds(100)) == now + .milliseconds(100))
    }

    @Test("a draining connection takes nothing, and drains once")
    func draining() {
        var machine = serving()
        #expect(machine.retire() == true)
        #expect(machine.retire() == false)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
    }

    @Test("a suspect connection waits for a sign of life: an answer, or a pong")
    func suspect() {
        var machine = serving()
        #expect(machine.suspect() == true)
        #expect(machine.suspect() == false)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        machine.isAlive(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
        #expect(machine.suspect() == true)
        machine.answered(status: 200, now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
    }

    @Test("a ping is due after so much idle time, and then again after as much")
    func ping() {
        var machine = serving()
        let hour = Duration.seconds(3600)
        #expect(machine.isPingDue(now: start + .seconds(3599), interval: hour) == false)
        #expect(machine.isPingDue(now: start + hour, interval: hour) == true)
        #expect(machine.isPingDue(now: start + hour + .seconds(15), interval: hour) == false)
        #expect(machine.isPingDue(now: start + hour * 2, interval: hour) == true)
        machine.sent(now: start + hour * 2)
        #expect(machine.isPingDue(now: start + hour * 2 + .seconds(3599), interval: hour) == false)
    }
}
