import ActivityModel
import JSON
import Testing

@Suite("The life of an activity")
struct ActivityStateMachineTests {
    static let record = StartRecord(body: ["type": "Game", "attributes": ["id": 1], "content_state": ["score": 0]])
    static let first: JSONValue = ["score": 0]

    static func machine(
        _ state: ActivityState?,
        change: (inout ActivityStanding) -> Void = { _ in }
    ) -> ActivityStateMachine {
        guard let state else { return ActivityStateMachine() }
        var standing = ActivityStanding(start: record, revision: 4, lastTimestamp: 1_000, contentState: first)
        if state == .scheduled { standing.lastTimestamp = nil }
        change(&standing)
        return ActivityStateMachine(state: state, standing: standing)
    }

    // MARK: Start

    @Test("A new start is live and stamped, or waits for its time unstamped")
    func newStart() {
        var machine = ActivityStateMachine()
        #expect(
            machine.start(Self.record, contentState: Self.first, now: 1_000) == .accept(revision: 1, timestamp: 1_000)
        )
        #expect(machine.activityState == .live)
        #expect(machine.standing?.contentState == Self.first)

        var later = ActivityStateMachine()
        #expect(
            later.start(Self.record, contentState: Self.first, isForLater: true, now: 1_000) == .schedule(revision: 1)
        )
        #expect(later.activityState == .scheduled)
        #expect(later.standing?.lastTimestamp == nil)
    }

    @Test(
        "A start of a taken id is judged against the stored start and changes nothing",
        arguments: [
            (.live, ["type": "Game", "content_state": ["score": 0.0], "attributes": ["id": 1]], .replay(revision: 4)),
            (
                .scheduled, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1]],
                .replay(revision: 4)
            ),
            (.ended, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1]], .replay(revision: 4)),
            (
                .live, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 2]],
                .refuseAttributesConflict
            ),
            (
                .scheduled, ["type": "Game", "content_state": ["score": 1], "attributes": ["id": 2]],
                .refuseAttributesConflict
            ),
            (.live, ["type": "Game", "content_state": ["score": 1], "attributes": ["id": 1]], .refuseActivityExists),
            (
                .live, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1], "urgency": "critical"],
                .refuseActivityExists
            ),
            (.ended, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 2]], .refuseActivityExists),
        ] as [(ActivityState, JSONObject, ActivityStateMachine.StartAction)]
    )
    func takenID(state: ActivityState, body: JSONObject, action: ActivityStateMachine.StartAction) {
        var machine = Self.machine(state) { $0.contentState = ["score": 9] }
        let before = machine
        #expect(machine.start(StartRecord(body: body), contentState: ["score": 5], now: 2_000) == action)
        #expect(machine == before)
    }

    @Test("A scheduled start begins once, with the newest revision")
    func due() {
        var machine = ActivityStateMachine()
        _ = machine.start(Self.record, contentState: Self.first, isForLater: true, now: 1_000)
        #expect(machine.update(.init(contentState: ["score": 1]), now: 1_001) == .accept(revision: 2, timestamp: nil))
        #expect(machine.startIsDue(now: 1_500) == .begin(revision: 2, timestamp: 1_500))
        #expect(machine.activityState == .live)
        #expect(machine.startIsDue(now: 1_501) == .ignore)
        #expect(machine.update(.init(contentState: ["score": 2]), now: 1_500) == .accept(revision: 3, timestamp: 1_501))
    }

    @Test("There is nothing to begin unless it is scheduled", arguments: [nil, .live, .ended] as [ActivityState?])
    func notDue(state: ActivityState?) {
        var machine = Self.machine(state)
        let before = machine
        #expect(machine.startIsDue(now: 2_000) == .ignore)
        #expect(machine == before)
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
        #expect(machine.standing?.lastTimestamp == 1_002)
        #expect(machine.standing?.contentState == ["score": 5])
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
        #expect(machine.standing?.openBarriers == 1)
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
        #expect(machine.update(update, now: 1_100) == .refuseLateEvent)
        update.eventTime = 50
        #expect(machine.update(update, now: 1_100) == .accept(revision: 5, timestamp: 1_100))
        update.force = false
        update.eventTime = 70
        #expect(machine.update(update, now: 1_100) == .unchanged(revision: 5))
        update.contentState = ["score": 2]
        update.eventTime = 60
        #expect(machine.update(update, now: 1_100) == .refuseLateEvent)
        update.eventTime = nil
        #expect(machine.update(update, now: 1_100) == .accept(revision: 6, timestamp: 1_101))
        #expect(machine.standing?.eventTime == 70)
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

    @Test(
        "Updates need an activity that has not ended",
        arguments: [(nil, .refuseUnknown), (.ended, .refuseEnded)]
            as [(ActivityState?, ActivityStateMachine.UpdateAction)]
    )
    func refusedUpdates(state: ActivityState?, action: ActivityStateMachine.UpdateAction) {
        var machine = Self.machine(state)
        let before = machine
        #expect(machine.update(.init(contentState: ["score": 1]), now: 2_000) == action)
        #expect(machine == before)
    }

    // MARK: End

    @Test("The end brings its own state or keeps the newest, and is final")
    func end() {
        var machine = Self.machine(.live)
        #expect(machine.end(contentState: nil, now: 1_000) == .accept(revision: 5, timestamp: 1_001))
        #expect(machine.activityState == .ended)
        #expect(machine.standing?.contentState == Self.first)
        #expect(machine.end(contentState: nil, now: 1_001) == .refuseEnded(revision: 5))

        var other = Self.machine(.live) { $0.lastTimestamp = 1_010 }
        #expect(other.end(contentState: ["score": 3], now: 1_000) == .accept(revision: 5, timestamp: nil))
        #expect(other.standing?.contentState == ["score": 3])
    }

    @Test("What never started ends without a stamp; what does not exist cannot end")
    func endWithoutStart() {
        var scheduled = Self.machine(.scheduled)
        #expect(scheduled.end(contentState: nil, now: 1_000) == .accept(revision: 5, timestamp: nil))
        #expect(scheduled.activityState == .ended)
        var absent = Self.machine(nil)
        #expect(absent.end(contentState: nil, now: 1_000) == .refuseUnknown)
        #expect(absent.activityState == nil)
    }

    @Test("The only ways are those of the diagram")
    func transitions() {
        var seen: Set<String> = []
        for state in [nil] + ActivityState.allCases.map(Optional.some) {
            let events: [(String, (inout ActivityStateMachine) -> Void)] = [
                ("start", { _ = $0.start(Self.record, contentState: Self.first, now: 2_000) }),
                ("start", { _ = $0.start(Self.record, contentState: Self.first, isForLater: true, now: 2_000) }),
                ("due", { _ = $0.startIsDue(now: 2_000) }),
                ("update", { _ = $0.update(.init(contentState: ["score": 7]), now: 2_000) }),
                ("end", { _ = $0.end(contentState: nil, now: 2_000) }),
            ]
            for (event, apply) in events {
                var machine = Self.machine(state)
                apply(&machine)
                guard machine.activityState != state else { continue }
                seen.insert("\(state?.rawValue ?? "absent") -\(event)-> \(machine.activityState?.rawValue ?? "absent")")
            }
        }
        #expect(
            seen == [
                "absent -start-> live", "absent -start-> scheduled", "scheduled -due-> live", "scheduled -end-> ended",
                "live -end-> ended",
            ]
        )
    }
}
