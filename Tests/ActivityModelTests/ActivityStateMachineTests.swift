import ActivityModel
import JSON
import Testing

@Suite("The life of an activity")
struct ActivityStateMachineTests {
    static let first: JSONValue = ["score": 0]

    static func machine(
        _ state: ActivityState,
        change: (inout ActivityStanding) -> Void = { _ in }
    ) -> ActivityStateMachine {
        var standing = ActivityStanding(revision: 4, lastTimestamp: 1_000, contentState: first)
        if state == .scheduled { standing.lastTimestamp = nil }
        change(&standing)
        return ActivityStateMachine(state: state, standing: standing)
    }

    // MARK: Update

    @Test("Updates are counted; those that would run ahead of the clock wait for the sender's stamp")
    func burst() {
        var machine = Self.machine(.live)
        let actions = (1...5).map { machine.update(.init(contentState: ["score": .number(.init($0))]), now: 1_000) }
        #expect(
            actions == [
                .accept(revision: 5, timestamp: 1_001), .accept(revision: 6, timestamp: 1_002),
                .accept(revision: 7, timestamp: nil),
                .accept(revision: 8, timestamp: nil), .accept(revision: 9, timestamp: nil),
            ]
        )
        #expect(machine.standing.lastTimestamp == 1_002)
        #expect(machine.standing.contentState == ["score": 5])
    }

    @Test("The newest state again is unchanged, unless it brings an alert or is forced")
    func unchanged() {
        var machine = Self.machine(.live)
        var update = ActivityStateMachine.Update(contentState: ["score": 0.0])
        update.mustDeliver = true
        #expect(machine.update(update, now: 1_100) == .unchanged(revision: 4))
        #expect(machine == Self.machine(.live))
        update.force = true
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        #expect(machine.standing.openBarriers == 1)
        var alert = ActivityStateMachine.Update(contentState: ["score": 0])
        alert.hasAlert = true
        #expect(machine.update(alert, now: 1_100) == .accept(revision: 6, timestamp: 1_101))
    }

    @Test("An event older than the newest is late, also after an unchanged state of a newer time")
    func lateEvents() {
        var machine = Self.machine(.live) { $0.eventTime = 50 }
        var update = ActivityStateMachine.Update(contentState: ["score": 1])
        update.eventTime = 49
        update.force = true
        #expect(machine.update(update, now: 1_100) == .refuseLateEvent(newest: 50))
        update.eventTime = 50
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        update.force = false
        update.eventTime = 70
        #expect(machine.update(update, now: 1_100) == .unchanged(revision: 5))
        update.contentState = ["score": 2]
        update.eventTime = 60
        #expect(machine.update(update, now: 1_100) == .refuseLateEvent(newest: 70))
        update.eventTime = nil
        #expect(machine.update(update, now: 1_100) == .accept(revision: 6, timestamp: 1_101))
        #expect(machine.standing.eventTime == 70)
    }

    @Test("An event may lie five minutes after the time at which its update is accepted, and no more")
    func futureEvents() {
        var machine = Self.machine(.live)
        let before = machine
        var update = ActivityStateMachine.Update(contentState: ["score": 1])
        update.eventTime = 1_401_000_000
        #expect(machine.update(update, now: 1_100) == .refuseFutureEvent)
        update.at = 1_000
        #expect(machine.update(update, now: 1_100) == .refuseFutureEvent)
        #expect(machine == before)
        update.at = 1_101
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        update = .init(contentState: ["score": 2])
        update.eventTime = 1_400_999_999
        #expect(machine.update(update, now: 1_100) == .refuseLateEvent(newest: 1_401_000_000))
        machine = before
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
    }

    @Test("A scheduled update that is run long before its event counts as of now")
    func scheduledFutureEvent() {
        var machine = Self.machine(.live)
        var update = ActivityStateMachine.Update(contentState: ["score": 1])
        update.eventTime = 90_000_000_000
        update.isScheduled = true
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        #expect(machine.standing.eventTime == 1_100_000_000)
    }

    @Test("At most eight barriers are open, and a refused one leaves nothing behind")
    func barriers() {
        var machine = Self.machine(.live) { $0.openBarriers = 7 }
        var update = ActivityStateMachine.Update(contentState: ["score": 1])
        update.mustDeliver = true
        update.eventTime = 10
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        update.contentState = ["score": 2]
        update.eventTime = 20
        let before = machine
        #expect(machine.update(update, now: 1_200) == .refuseTooManyMustDeliver)
        #expect(machine == before)
        update.mustDeliver = false
        #expect(machine.update(update, now: 1_200) == .accept(revision: 6, timestamp: 1_200))
    }

    @Test("While nobody could be owed a must-deliver change, none is a barrier")
    func noBarriers() {
        var machine = Self.machine(.scheduled) { $0.openBarriers = nil }
        for score in Int64(1)...20 {
            var update = ActivityStateMachine.Update(contentState: ["score": .number(JSONNumber(score))])
            update.mustDeliver = true
            #expect(machine.update(update, now: 1_100) == .accept(revision: 4 + score, timestamp: nil))
        }
    }

    @Test("Until it begins, updates are counted and not stamped")
    func scheduled() {
        var machine = Self.machine(.scheduled)
        #expect(machine.update(.init(contentState: ["score": 1]), now: 1_001) == .accept(revision: 5, timestamp: nil))
        #expect(machine.standing.lastTimestamp == nil)
        #expect(machine.state == .scheduled)
    }

    @Test("Updates need an activity that has not ended")
    func endedUpdates() {
        var machine = Self.machine(.ended)
        let before = machine
        #expect(machine.update(.init(contentState: ["score": 1]), now: 2_000) == .refuseEnded)
        #expect(machine == before)
    }

    // MARK: End

    @Test("The end brings its own state or keeps the newest, and is final")
    func end() {
        var machine = Self.machine(.live)
        #expect(machine.end(contentState: nil, now: 1_000) == .accept(revision: 5, timestamp: 1_001))
        #expect(machine.state == .ended)
        #expect(machine.standing.contentState == Self.first)
        let ended = machine
        #expect(machine.end(contentState: nil, now: 1_001) == .repeated(revision: 5))
        #expect(machine.end(contentState: Self.first, now: 1_001) == .repeated(revision: 5))
        #expect(machine.end(contentState: ["score": 7], now: 1_001) == .refuseEnded)
        #expect(machine == ended)

        var other = Self.machine(.live) { $0.lastTimestamp = 1_010 }
        #expect(other.end(contentState: ["score": 3], now: 1_000) == .accept(revision: 5, timestamp: nil))
        #expect(other.standing.contentState == ["score": 3])
    }

    @Test("What never started ends without a stamp")
    func endWithoutStart() {
        var scheduled = Self.machine(.scheduled)
        #expect(scheduled.end(contentState: nil, now: 1_000) == .accept(revision: 5, timestamp: nil))
        #expect(scheduled.state == .ended)
    }
}
