/// Decides what happens to one device's start when it is due and when APNs has answered its push (promise 6).
///
/// It has no clock and stores nothing: the caller builds it from the stored row, calls it, and stores the result. Four
/// events bypass it. The phone's report settles a start in any state. A registration makes a withheld or failed
/// start due again. The end of a halt does the same where it revives the start token. After the end of the activity no
/// start is due.
///
/// ```
/// pending ──▶ claimed ──▶ sent
///    ▲           ├──────▶ unknown ──▶ claimed (repeated, once)
///    ├───────────┴──────▶ withheld, failed, cancelled
///    └─ a new registration, or the obstacle is gone
///
/// any state ──▶ settled: the phone has reported the card, so no other start leaves
/// ```
package struct StartStateMachine: Sendable, Hashable {
    /// The states of a start, as they are stored.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Not sent yet.
        case pending
        /// Its push is about to leave, or has left without an answer so far.
        case claimed
        /// Its push may have arrived.
        case unknown
        /// APNs accepted its push.
        case sent
        /// The phone has reported its card.
        case settled
        /// It cannot be sent now, or not until the device registers again or a halt ends.
        case withheld
        /// APNs refused it permanently.
        case failed
        /// It is no longer wanted.
        case cancelled
    }

    /// Why a start is withheld or cancelled, as it is stored and shown. Other possible values: the raw values of
    /// ``DeviceCapability/WithheldReason`` and APNs' own reasons.
    package enum Reason: String, Sendable, Hashable {
        /// Its app could not decode what would be sent.
        case incompatibleVersion = "incompatible_version"
        /// The device has no start token.
        case noStartToken = "no_start_token"
        /// The phone's start budget for the window is used up.
        case startBudget = "start_budget"
        /// The device was taken out of the audience.
        case notInAudience = "not_in_audience"
        /// The app was reinstalled in the other environment.
        case environmentChanged = "environment_changed"
    }

    /// The reason why a start cannot be sent now.
    package enum Obstacle: Sendable, Hashable {
        /// The device cannot show the activity at all.
        case incapable(DeviceCapability.WithheldReason)
        /// Its app could not decode what would be sent.
        case incompatibleVersion
        /// The device has no live start token. The app may still report one, or the end of a halt may revive one.
        case noStartToken
        /// The phone would drop it: its start budget is used up until this time, in microseconds since 1970.
        case budget(until: Int64)

        /// The reason as it is stored and shown.
        package var word: String {
            switch self {
            case .incapable(let reason): reason.rawValue
            case .incompatibleVersion: Reason.incompatibleVersion.rawValue
            case .noStartToken: Reason.noStartToken.rawValue
            case .budget: Reason.startBudget.rawValue
            }
        }

        /// The first obstacle of several. Limits of the phone come first, obstacles that pass with time come last.
        /// Expensive checks run only when the earlier ones find no obstacle.
        package static func first(
            capability: DeviceCapability,
            isDecodable: @autoclosure () throws -> Bool,
            hasToken: Bool,
            budgetUntil: @autoclosure () -> Int64?
        ) rethrows -> Obstacle? {
            if case .withheld(let reason) = capability { return .incapable(reason) }
            guard try isDecodable() else { return .incompatibleVersion }
            guard hasToken else { return .noStartToken }
            return budgetUntil().map { .budget(until: $0) }
        }

        /// Whether there will certainly be no card soon. Then a fallback alert may be sent.
        fileprivate var excludesCard: Bool {
            if case .noStartToken = self { return false }
            return true
        }
    }

    /// The maximum number of pushes per start that may have arrived: the first and its repeat.
    package static let maximumAttempts = 2

    package private(set) var state: State
    /// Claims whose push may have left. 2 records that the start was repeated.
    package private(set) var attempts: Int
    /// Consecutive attempts that certainly started no card.
    package private(set) var failures: Int
    /// Whether a fallback alert was sent. Each start sends at most one.
    package private(set) var hasFallenBack: Bool
    /// The reason of its state, in Tally's or APNs' words.
    package private(set) var reason: String?

    /// A stored start; by default a new one.
    package init(
        state: State = .pending,
        attempts: Int = 0,
        failures: Int = 0,
        hasFallenBack: Bool = false,
        reason: String? = nil
    ) {
        self.state = state
        self.attempts = attempts
        self.failures = failures
        self.hasFallenBack = hasFallenBack
        self.reason = reason
    }
}

// MARK: Due

extension StartStateMachine {
    /// The action for a start that is due.
    package enum DueAction: Sendable, Hashable {
        /// Send the start; it is claimed.
        case start
        /// Send a fallback alert; the start is claimed.
        case alert
        /// Check again at this time, in microseconds since 1970; `nil`: when the device registers again.
        case wait(until: Int64?)
        /// Do nothing more.
        case rest
    }

    /// Handles a start that is due: a new one, one to retry, or one that was claimed so long ago that it is repeated.
    ///
    /// - Parameters:
    ///   - isWanted: Whether the device is in the audience. A removed device is not started.
    ///   - isReported: Whether the phone has reported the card, perhaps while the start was being created.
    ///   - obstacle: The reason why it cannot be sent, if any.
    ///   - mayAlert: Whether the policy allows a fallback alert and the device has a token for it.
    /// - Returns: The action to take after the machine's new state has been stored.
    package mutating func isDue(
        isWanted: Bool,
        isReported: Bool = false,
        obstacle: Obstacle?,
        mayAlert: Bool
    ) -> DueAction {
        if isReported {
            (state, reason) = (.settled, nil)
            return .rest
        }
        if attempts >= Self.maximumAttempts || (attempts > 0 && !isWanted) {
            // Only the phone can report whether the card exists.
            state = .unknown
            return .rest
        }
        guard isWanted else {
            state = .cancelled
            reason = Reason.notInAudience.rawValue
            return .rest
        }
        guard let obstacle else {
            state = .claimed
            attempts += 1
            reason = nil
            return .start
        }
        reason = obstacle.word
        // If a card may exist, an alert would repeat its news.
        if mayAlert, obstacle.excludesCard, !hasFallenBack, attempts == 0 {
            state = .claimed
            hasFallenBack = true
            return .alert
        }
        state = .withheld
        if case .budget(let until) = obstacle, !hasFallenBack { return .wait(until: until) }
        return .wait(until: nil)
    }
}

// MARK: Answers

extension StartStateMachine {
    /// What the answer to a push means for the start.
    package enum Answer: Sendable, Hashable {
        case accepted
        /// No answer: the push may have arrived.
        case unknown(String)
        /// The token is not valid. The same push with a valid token can succeed.
        case tokenFailed(String)
        /// APNs will never accept the push.
        case refused(String)
        /// It certainly did not arrive. A retry may succeed.
        case notSent(String)

        /// Whether the start's next state depends on what the device has reported since the push left. If not, the
        /// arguments about the device change nothing in ``answered(_:isRenewed:hasLiveToken:)`` and
        /// ``alertAnswered(_:isRenewed:)``.
        package func dependsOnDevice(isAlert: Bool) -> Bool {
            switch self {
            case .accepted, .unknown: isAlert
            case .tokenFailed, .refused: true
            case .notSent: false
            }
        }
    }

    /// When a start is due again after its answer.
    package enum Again: Sendable, Hashable {
        case never
        /// At the time of repeat that its claim set.
        case asClaimed
        /// After a pause that grows with the failures.
        case afterBackOff
    }

    /// Handles the answer to the push of a claimed start.
    ///
    /// A failed start is retried if the device has registered since its push left (`isRenewed`). One that failed
    /// because of its token is also retried if the device has a live token after this answer (`hasLiveToken`).
    package mutating func answered(_ answer: Answer, isRenewed: Bool, hasLiveToken: Bool) -> Again {
        switch answer {
        case .accepted:
            (state, reason, failures) = (.sent, nil, 0)
            return .never
        case .unknown(let word):
            (state, reason, failures) = (.unknown, word, 0)
            return .asClaimed
        case .tokenFailed(let word):
            return takeBack(word, triesAgain: isRenewed || hasLiveToken)
        case .refused(let word):
            return takeBack(word, triesAgain: isRenewed)
        case .notSent(let word):
            return takeBack(word, triesAgain: true)
        }
    }

    /// Handles the answer to the fallback alert of a claimed start. An alert that may have arrived is not repeated.
    package mutating func alertAnswered(_ answer: Answer, isRenewed: Bool) -> Again {
        if case .notSent = answer {
            hasFallenBack = false
            return tryAgain()
        }
        if isRenewed { return tryAgain() }
        (state, failures) = (.withheld, 0)
        return .never
    }

    /// Undoes the claim, because the push did not arrive.
    private mutating func takeBack(_ word: String, triesAgain: Bool) -> Again {
        attempts = max(attempts - 1, 0)
        reason = word
        if triesAgain { return tryAgain() }
        (state, failures) = (.failed, 0)
        return .never
    }

    private mutating func tryAgain() -> Again {
        state = .pending
        failures = min(failures + 1, 1000)
        return .afterBackOff
    }
}
