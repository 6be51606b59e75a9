import ActivityModel
import TestSupport
import Testing

private typealias Machine = StartStateMachine

@Suite("The start of one device")
struct StartStateMachineTests {
    struct DueCase: Sendable, CustomTestStringConvertible {
        var stored = StartStateMachine()
        var isWanted = true
        var obstacle: StartStateMachine.Obstacle?
        var mayAlert = false
        let action: StartStateMachine.DueAction
        let state: StartStateMachine.State
        var attempts = 0
        var reason: String?

        var testDescription: String { "\(stored.state) \(stored.attempts), \(isWanted), \(obstacle?.word ?? "free")" }
    }

    static let dueCases: [DueCase] = [
        DueCase(action: .start, state: .claimed, attempts: 1),
        DueCase(isWanted: false, action: .rest, state: .cancelled, reason: "not_in_audience"),
        // One that may have left is repeated once.
        DueCase(stored: StartStateMachine(state: .unknown, attempts: 1), action: .start, state: .claimed, attempts: 2),
        DueCase(stored: StartStateMachine(state: .claimed, attempts: 1), action: .start, state: .claimed, attempts: 2),
        DueCase(stored: StartStateMachine(state: .unknown, attempts: 2), action: .rest, state: .unknown, attempts: 2),
        DueCase(stored: StartStateMachine(state: .claimed, attempts: 2), action: .rest, state: .unknown, attempts: 2),
        DueCase(
            stored: StartStateMachine(state: .unknown, attempts: 1),
            isWanted: false,
            action: .rest,
            state: .unknown,
            attempts: 1
        ),
        // What stands against it.
        DueCase(
            obstacle: .incapable(.needsIOS18),
            action: .wait(until: nil),
            state: .withheld,
            reason: "needs_ios_18"
        ),
        DueCase(obstacle: .noStartToken, action: .wait(until: nil), state: .withheld, reason: "no_start_token"),
        DueCase(obstacle: .budget(until: 7), action: .wait(until: 7), state: .withheld, reason: "start_budget"),
        DueCase(
            stored: StartStateMachine(state: .unknown, attempts: 1),
            obstacle: .incapable(.activitiesDisabled),
            action: .wait(until: nil),
            state: .withheld,
            attempts: 1,
            reason: "activities_disabled"
        ),
        // An alert stands in where there will be no card, once, and never beside one that may be there.
        DueCase(
            obstacle: .incapable(.needsIOS172),
            mayAlert: true,
            action: .alert,
            state: .claimed,
            reason: "needs_ios_17_2"
        ),
        DueCase(obstacle: .budget(until: 7), mayAlert: true, action: .alert, state: .claimed, reason: "start_budget"),
        DueCase(
            obstacle: .noStartToken,
            mayAlert: true,
            action: .wait(until: nil),
            state: .withheld,
            reason: "no_start_token"
        ),
        DueCase(
            stored: StartStateMachine(state: .claimed, hasFallenBack: true),
            obstacle: .budget(until: 7),
            mayAlert: true,
            action: .wait(until: nil),
            state: .withheld,
            reason: "start_budget"
        ),
        DueCase(
            stored: StartStateMachine(state: .unknown, attempts: 1),
            obstacle: .budget(until: 7),
            mayAlert: true,
            action: .wait(until: 7),
            state: .withheld,
            attempts: 1,
            reason: "start_budget"
        ),
        DueCase(stored: StartStateMachine(hasFallenBack: true), action: .start, state: .claimed, attempts: 1),
    ]

    @Test("One whose card the phone has reported is settled for good", arguments: StartStateMachine.State.allCases)
    func reported(state: StartStateMachine.State) {
        var machine = StartStateMachine(state: state, attempts: 1, reason: "start_budget")
        let action = machine.isDue(isWanted: true, isReported: true, obstacle: nil, mayAlert: true)
        #expect(action == .rest)
        #expect(machine == StartStateMachine(state: .settled, attempts: 1))
    }

    @Test("What becomes of a start that is due", arguments: dueCases)
    func due(example: DueCase) {
        var machine = example.stored
        let action = machine.isDue(
            isWanted: example.isWanted,
            obstacle: example.obstacle,
            mayAlert: example.mayAlert
        )
        #expect(action == example.action)
        #expect(machine.state == example.state)
        #expect(machine.attempts == example.attempts)
        #expect(machine.reason == example.reason)
    }

    struct AnswerCase: Sendable, CustomTestStringConvertible {
        let answer: StartStateMachine.Answer
        var isRenewed = false
        var hasLiveToken = false
        let state: StartStateMachine.State
        let again: StartStateMachine.Again
        let attempts: Int

        var testDescription: String { "\(answer) \(isRenewed) \(hasLiveToken)" }
    }

    static let answerCases: [AnswerCase] = [
        AnswerCase(answer: .accepted, state: .sent, again: .never, attempts: 1),
        AnswerCase(answer: .unknown("no answer"), state: .unknown, again: .asClaimed, attempts: 1),
        AnswerCase(answer: .notSent("503"), state: .pending, again: .afterBackOff, attempts: 0),
        AnswerCase(answer: .refused("400"), state: .failed, again: .never, attempts: 0),
        AnswerCase(answer: .refused("400"), hasLiveToken: true, state: .failed, again: .never, attempts: 0),
        AnswerCase(answer: .refused("400"), isRenewed: true, state: .pending, again: .afterBackOff, attempts: 0),
        AnswerCase(answer: .tokenFailed("410"), state: .failed, again: .never, attempts: 0),
        AnswerCase(answer: .tokenFailed("410"), hasLiveToken: true, state: .pending, again: .afterBackOff, attempts: 0),
        AnswerCase(answer: .tokenFailed("410"), isRenewed: true, state: .pending, again: .afterBackOff, attempts: 0),
    ]

    @Test("What an answer says of a start", arguments: answerCases)
    func answered(example: AnswerCase) {
        var machine = StartStateMachine()
        _ = machine.isDue(isWanted: true, obstacle: nil, mayAlert: false)
        let again = machine.answered(
            example.answer,
            isRenewed: example.isRenewed,
            hasLiveToken: example.hasLiveToken
        )
        #expect(machine.state == example.state)
        #expect(again == example.again)
        #expect(machine.attempts == example.attempts)
        #expect(machine.failures == (example.again == .afterBackOff ? 1 : 0))
    }

    @Test("Only for some answers it matters what the device has reported since", arguments: [false, true])
    func dependsOnDevice(isAlert: Bool) {
        let answers: [StartStateMachine.Answer] = [
            .accepted, .unknown(""), .tokenFailed("410"), .refused("400"), .notSent("503"),
        ]
        for answer in answers {
            let results = [(false, false), (false, true), (true, false), (true, true)].map { isRenewed, hasLiveToken in
                var machine = StartStateMachine()
                _ = machine.isDue(isWanted: true, obstacle: isAlert ? .budget(until: 1) : nil, mayAlert: isAlert)
                let again =
                    isAlert
                    ? machine.alertAnswered(answer, isRenewed: isRenewed)
                    : machine.answered(answer, isRenewed: isRenewed, hasLiveToken: hasLiveToken)
                return "\(machine) \(again)"
            }
            #expect((Set(results).count > 1) == answer.dependsOnDevice(isAlert: isAlert), "\(answer)")
        }
    }

    @Test("An alert that stood in is repeated only if it certainly did not leave")
    func alertAnswered() {
        func answer(
            _ answer: StartStateMachine.Answer,
            isRenewed: Bool = false
        ) -> (StartStateMachine, StartStateMachine.Again) {
            var machine = StartStateMachine()
            _ = machine.isDue(isWanted: true, obstacle: .budget(until: 1), mayAlert: true)
            let again = machine.alertAnswered(answer, isRenewed: isRenewed)
            return (machine, again)
        }
        for final: StartStateMachine.Answer in [.accepted, .unknown(""), .tokenFailed("410"), .refused("400")] {
            let (machine, again) = answer(final)
            #expect(machine.state == .withheld)
            #expect(machine.reason == "start_budget")
            #expect(machine.hasFallenBack)
            #expect(again == .never)
            #expect(machine.attempts == 0)
        }
        let (retried, again) = answer(.notSent("503"))
        #expect(retried.state == .pending)
        #expect(!retried.hasFallenBack)
        #expect(again == .afterBackOff)
        let (renewed, _) = answer(.accepted, isRenewed: true)
        #expect(renewed.state == .pending)
        #expect(renewed.hasFallenBack)
    }

    @Test(
        "At most two pushes may have arrived, the second only after one without an answer, and both are on record",
        arguments: 1...500
    )
    func oneStart(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = StartStateMachine()
        var mayHaveArrived = 0
        var alerts = 0
        var isDue = true
        for _ in 1...40 {
            guard isDue else {
                // A registration makes what came to nothing due again.
                if [.withheld, .failed, .cancelled].contains(machine.state), Bool.random(using: &random) {
                    isDue = true
                }
                continue
            }
            let obstacles: [StartStateMachine.Obstacle?] = [
                nil, nil, nil, .noStartToken, .incapable(.activitiesDisabled), .budget(until: 1),
            ]
            let action = machine.isDue(
                isWanted: .random(in: 1...8, using: &random) > 1,
                obstacle: obstacles.randomElement(using: &random) ?? nil,
                mayAlert: .random(using: &random)
            )
            switch action {
            case .wait(let until): isDue = until != nil
            case .rest: isDue = false
            case .alert:
                #expect(mayHaveArrived == 0)
                let answers: [Machine.Answer] = [.accepted, .unknown(""), .notSent("")]
                let answer = answers.randomElement(using: &random) ?? .accepted
                if case .notSent = answer {} else { alerts += 1 }
                isDue = machine.alertAnswered(answer, isRenewed: .random(using: &random)) != .never
            case .start:
                let isCrash = Int.random(in: 1...5, using: &random) == 1
                if isCrash {
                    mayHaveArrived += 1
                    continue
                }
                let answers: [Machine.Answer] = [
                    .accepted, .unknown(""), .tokenFailed(""), .refused(""), .notSent(""),
                ]
                let answer = answers.randomElement(using: &random) ?? .accepted
                switch answer {
                case .accepted, .unknown: mayHaveArrived += 1
                case .tokenFailed, .refused, .notSent: break
                }
                isDue =
                    machine.answered(answer, isRenewed: .random(using: &random), hasLiveToken: .random(using: &random))
                    != .never
                if answer == .accepted {
                    #expect(!isDue)
                    #expect(machine.attempts == mayHaveArrived)
                    return
                }
            }
            #expect(mayHaveArrived <= StartStateMachine.maximumAttempts)
            #expect(machine.attempts == mayHaveArrived)
            #expect(alerts <= 1)
        }
    }

    @Test("Of several obstacles the lasting one is told, and what costs something is asked for only where it decides")
    func firstObstacle() {
        func first(_ enabled: Bool, _ decodes: Bool, _ hasToken: Bool, _ until: Int64?) -> (String?, asked: Int) {
            var asked = 0
            let capability = DeviceCapability(osVersion: .channels, activitiesEnabled: enabled, delivery: .tokens)
            let obstacle = StartStateMachine.Obstacle.first(
                capability: capability,
                isDecodable: {
                    asked += 1; return decodes
                }(),
                hasToken: hasToken,
                budgetUntil: {
                    asked += 1; return until
                }()
            )
            return (obstacle?.word, asked)
        }
        #expect(first(false, false, false, 5) == ("activities_disabled", 0))
        #expect(first(true, false, false, 5) == ("incompatible_version", 1))
        #expect(first(true, true, false, 5) == ("no_start_token", 1))
        #expect(first(true, true, true, 5) == ("start_budget", 2))
        #expect(first(true, true, true, nil) == (nil, 2))
    }
}
