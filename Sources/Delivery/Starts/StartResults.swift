import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Registry
import Store
import Waiting

/// The outcomes of a batch of claimed starts.
struct StartResults: Sendable {
    private struct Answered {
        let start: ClaimedStart
        let answer: StartStateMachine.Answer
        /// Whether an alert stood in.
        let isAlert: Bool

        var dependsOnDevice: Bool { answer.dependsOnDevice(isAlert: isAlert) }
    }

    /// What a device has reported since its start was claimed.
    private struct DeviceFacts {
        let isRenewed: Bool
        let hasLiveToken: Bool
    }

    /// A start that APNs accepted, and the mode of the card that it makes.
    private typealias Started = (ClaimedStart, mode: String)

    let backoff: Backoff
    /// Where the starts are sent.
    let environment: APNSEnvironment
    private var answers: [Answered] = []
    private var started: [Started] = []
    private var failedTokens: [StartTokenRows.Failure] = []
    private var failedDeviceTokens: [DeviceTokens.Failure] = []
    /// Why no push of this app leaves at all, in APNs' words.
    private(set) var credentialFailure: String?

    init(backoff: Backoff, environment: APNSEnvironment) {
        self.backoff = backoff
        self.environment = environment
    }

    /// Takes the answer to a start; nil for one that APNs accepted.
    mutating func answer(_ start: ClaimedStart, _ inputPush: LiveActivityBody.InputPush, _ outcome: PushOutcome?) {
        let answer = meaning(of: outcome)
        answers.append(Answered(start: start, answer: answer, isAlert: false))
        if answer == .accepted {
            switch inputPush {
            case .channel: started.append((start, "channel"))
            case .token, .none: started.append((start, "token"))
            }
        }
        guard let outcome else { return }
        switch outcome.class.consequence {
        case .forget(let milliseconds): failedTokens.append(failure(of: start, isDead: true, at: milliseconds, outcome))
        case .park: failedTokens.append(failure(of: start, isDead: false, at: nil, outcome))
        case .done, .refused, .again: break
        }
    }

    private func failure(
        of start: ClaimedStart,
        isDead: Bool,
        at milliseconds: Int64?,
        _ outcome: PushOutcome
    ) -> StartTokenRows.Failure {
        StartTokenRows.Failure(
            deviceKey: start.deviceKey,
            token: start.token,
            isDead: isDead,
            deadAt: milliseconds,
            reason: outcome.words
        )
    }

    /// Takes the answer to an alert that stood in for a start.
    mutating func answerAlert(_ start: ClaimedStart, _ outcome: PushOutcome?) {
        answers.append(Answered(start: start, answer: meaning(of: outcome), isAlert: true))
        if let outcome, let token = start.deviceToken,
            let failure = DeviceTokens.Failure(
                deviceKey: start.deviceKey,
                in: environment,
                token: token,
                outcome.class.consequence
            )
        {
            failedDeviceTokens.append(failure)
        }
    }

    mutating func meaning(of outcome: PushOutcome?) -> StartStateMachine.Answer {
        guard let outcome else { return .accepted }
        if outcome.class == .credential { credentialFailure = outcome.words }
        switch outcome.class.consequence {
        case .done: return .accepted
        case .refused: return .refused(outcome.words)
        case .forget, .park: return .tokenFailed(outcome.words)
        case .again(mayHaveArrived: true): return .unknown(outcome.words)
        case .again(mayHaveArrived: false): return .notSent(outcome.words)
        }
    }

    /// Records it. A start that was settled meanwhile stays so, and one that was claimed again belongs to that claim. A
    /// device that was deleted meanwhile has nothing left to record.
    ///
    /// `isRepeat`: it may be recorded already, as nobody has heard what became of a COMMIT. Then no start is claimed
    /// any more.
    func store(for activity: ActivitySnapshot, isRepeat: Bool, on connection: PostgresConnection) async throws {
        // They stay until this is committed. Locked first, as reports and deletions do: nobody waits in another's way. While
        // cards are handed over, reports of their devices wait: one that does not see it would take the row of the new card
        // for that of the old one.
        let isHandOver = self.started.contains(where: Self.handsOver)
        let devices = DeviceRows.hold(deviceKeys, againstReports: isHandOver)
        if isRepeat, try await connection.pipeline([.planningOnce, devices, look(answers, activity)])[2].isEmpty {
            return
        }
        let unclear = answers.filter(\.dependsOnDevice)
        var first: [Query] = [.planningOnce, devices]
        if !failedDeviceTokens.isEmpty { first.append(DeviceTokens.failed(failedDeviceTokens)) }
        // Judged before the look: whether a start is tried again depends on the tokens that are left.
        if !failedTokens.isEmpty {
            first.append(StartTokenRows.failed(failedTokens, of: activity.typeName, in: activity.key, environment))
        }
        // All of them, so that starts are locked in the order of their keys, as everybody locks them.
        if !unclear.isEmpty { first.append(look(answers, activity)) }
        let results = try await connection.pipeline(first)
        let present = Set(try results[1].decoded(as: Int64.self))
        var facts: [Int64: DeviceFacts] = [:]
        if !unclear.isEmpty {
            for (key, isRenewed, hasLiveToken) in try results[results.count - 1].decoded(as: (Int64, Bool, Bool).self) {
                facts[key] = DeviceFacts(isRenewed: isRenewed, hasLiveToken: hasLiveToken)
            }
        }
        var statements = [outcomes(activity, facts)]
        let started = started.filter { present.contains($0.0.deviceKey) }
        if !started.isEmpty {
            let continued = started.filter(Self.handsOver).map {
                CardKey(activityKey: activity.key, deviceKey: $0.0.deviceKey)
            }
            if !continued.isEmpty {
                statements += CardKey.hold(continued)
                statements.append(Continuations.handOver(continued, to: continued.map { _ in nil }))
            }
            statements.append(subscriptions(started, activity))
            if activity.policy.onUnfollow == .end {
                let deviceKeys = started.map(\.0.deviceKey)
                statements.append(StartRows.cancellation(ofLeaving: deviceKeys, in: activity.key))
            }
            if started.contains(where: { $0.mode == "channel" }) {
                statements.append(SegmentRows.announce(activityKeys: [activity.key]))
            }
        }
        _ = try await connection.commit(statements)
    }

    /// Whether the new card takes the row of the card that it continues now. One with a token takes it when it is reported. A
    /// card on the channel need not be reported.
    private static func handsOver(_ started: Started) -> Bool { started.0.isContinuation && started.mode == "channel" }

    private var deviceKeys: [Int64] { answers.map(\.start.deviceKey) }

    /// The statement that locks the starts of answers if they are open, and reads what their devices have reported.
    private func look(_ answers: [Answered], _ activity: ActivitySnapshot) -> Query {
        StartRows.look(
            at: answers.map { (deviceKey: $0.start.deviceKey, claimedAt: $0.start.claimedAt) },
            of: activity.key,
            activity.typeName
        )
    }

    /// The statement that stores the answers of starts that are open, in the order of their keys. A start is left out if
    /// its outcome depends on its device, and it was not open when that was read.
    private func outcomes(_ activity: ActivitySnapshot, _ facts: [Int64: DeviceFacts]) -> Query {
        var outcomes: [StartRows.Answered] = []
        for answered in answers.sorted(by: { $0.start.deviceKey < $1.start.deviceKey }) {
            let device = facts[answered.start.deviceKey]
            if device == nil, answered.dependsOnDevice { continue }
            let isRenewed = device?.isRenewed ?? false
            let hasLiveToken = device?.hasLiveToken ?? false
            var machine = answered.start.machine
            let again =
                answered.isAlert
                ? machine.alertAnswered(answered.answer, isRenewed: isRenewed)
                : machine.answered(answered.answer, isRenewed: isRenewed, hasLiveToken: hasLiveToken)
            let delay = backoff.delay(afterFailures: machine.failures)
            outcomes.append(
                StartRows.Answered(
                    deviceKey: answered.start.deviceKey,
                    claimedAt: answered.start.claimedAt,
                    machine: machine,
                    keepsDueAt: again == .asClaimed,
                    delay: again == .afterBackOff ? delay : nil
                )
            )
        }
        return StartRows.answered(outcomes, of: activity.key)
    }

    /// The statement that makes the cards of starts that APNs accepted.
    private func subscriptions(_ started: [Started], _ activity: ActivitySnapshot) -> Query {
        let cards = started.map { start, mode in
            SubscriptionRows.Started(
                deviceKey: start.deviceKey,
                mode: mode,
                frequent: start.frequent,
                claimedAt: start.claimedAt,
                checkAfter: CardWatch(isWaiting: mode == "token").nextAge(after: 0, activity.policy)
                    .map(Duration.microseconds)
            )
        }
        return SubscriptionRows.insertion(
            of: cards,
            in: activity.key,
            knowing: activity.newest,
            endsOnUnfollow: activity.policy.onUnfollow == .end
        )
    }
}
