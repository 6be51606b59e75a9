/// Decides what becomes of one device's start when its time has come and when its push was answered (promise 6).
///
/// It has no clock and stores nothing: it is built from the stored row, asked, and written back. Three things need no
/// decision and are not asked about: the phone's own report settles a start, whatever its state; a registration makes
/// one that came to nothing due again; the end of the activity leaves none due.
///
/// ```
/// pending ──▶ claimed ──▶ sent
///    ▲           ├──────▶ unknown ──▶ claimed (repeated, once)
///    ├───────────┴──────▶ withheld, failed, cancelled
///    └─ a new registration, or what stood against it is over
///
/// every one ──▶ settled: the phone has reported the card, and there is never another start
/// ```
package struct StartStateMachine: Sendable, Hashable {
    /// The states of a start, as they are stored.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Not sent yet.
        case pending
        /// Its push is about to leave, or has left without being answered yet.
        case claimed
        /// Its push may have arrived.
        case unknown
        /// APNs took its push.
        case sent
        /// The phone has reported its card.
        case settled
        /// It cannot be sent, for now or until the device registers anew.
        case withheld
        /// APNs refused it for good.
        case failed
        /// Nobody wants it any more.
        case cancelled
    }

    /// Why a start is withheld or cancelled, as it is stored and shown; besides, there are the words of a
    /// ``DeviceCapability/WithheldReason`` and those of APNs.
    package enum Reason: String, Sendable, Hashable {
        /// Its app could not decode what would be sent.
        case incompatibleVersion = "incompatible_version"
        /// There is nothing to send it to.
        case noStartToken = "no_start_token"
        /// The phone's starts of the window are used up.
        case startBudget = "start_budget"
        /// The device was taken out of the audience.
        case notInAudience = "not_in_audience"
        /// The device was installed anew in the other environment.
        case environmentChanged = "environment_changed"
    }

    /// What stands against a start.
    package enum Obstacle: Sendable, Hashable {
        /// The device cannot show the activity at all.
        case incapable(DeviceCapability.WithheldReason)
        /// Its app could not decode what would be sent.
        case incompatibleVersion
        /// There is nothing to send it to; the app may report a token yet.
        case noStartToken
        /// The phone would drop it: its starts of the window are used up until a time, in microseconds since 1970.
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

        /// What is told, and goes by, where several things stand against a start: first what the phone itself rules
        /// out, last what passes with time. What costs something to find out is asked for only where it decides.
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

        /// Whether it is certain that there will be no card soon, so that an alert may stand in.
        fileprivate var excludesCard: Bool {
            if case .noStartToken = self { return false }
            return true
        }
    }

    /// The most pushes of one start that may have arrived: the first, and its repeat.
    package static let maximumAttempts = 2

    package private(set) var state: State
    /// Claims whose push may have left; 2: the start was repeated, and that is its record.
    package private(set) var attempts: Int
    /// Tries in a row that certainly started nothing.
    package private(set) var failures: Int
    /// Whether an alert has stood in. It does so once.
    package private(set) var hasFallenBack: Bool
    /// Why it is where it is, in a word of ours or of APNs'.
    package private(set) var reason: String?

    /// A start as it is stored; by default a new one.
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

// MARK: Its time has come

extension StartStateMachine {
    /// What is to be done about a start that is due.
    package enum DueAction: Sendable, Hashable {
        /// Send it; it is claimed.
        case start
        /// Send an ordinary alert in its stead; it is claimed.
        case alert
        /// Look again at this time, in microseconds since 1970; nil: when the device registers anew.
        case wait(until: Int64?)
        /// Nothing, ever.
        case rest
    }

    /// The start is due: it is new, to be tried again, or was claimed so long ago that it is to be repeated.
    ///
    /// - Parameters:
    ///   - isWanted: Whether the device is in the audience; who was removed is not started any more.
    ///   - isReported: Whether the phone has reported the card, perhaps at the moment at which the start was made.
    ///   - obstacle: What stands against it.
    ///   - mayAlert: Whether the policy lets an alert stand in and there is a token to send it to.
    /// - Returns: What is to be done, when the machine as it is now has been stored.
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
            // Only the phone can tell what became of it.
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
        // An alert beside a card that may be there would tell the same thing twice.
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

// MARK: Its push was answered

extension StartStateMachine {
    /// What the answer to a push says of the start.
    package enum Answer: Sendable, Hashable {
        case accepted
        /// No answer: it may have arrived.
        case unknown(String)
        /// The token is not good; with another one it would have been.
        case tokenFailed(String)
        /// The push will never be taken.
        case refused(String)
        /// It certainly did not arrive, and may if it is tried again.
        case notSent(String)
    }

    /// When a start that was answered is due again.
    package enum Again: Sendable, Hashable {
        case never
        /// When its claim said that it would be repeated.
        case asClaimed
        /// After a pause that grows with the failures.
        case afterBackOff
    }

    /// The push of a claimed start was answered.
    ///
    /// What failed for the old registration of a device that has registered since (`isRenewed`) is tried again; what
    /// failed for its token's sake also if there is one that is believed to live (`hasLiveToken`), the answer
    /// considered.
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

    /// The alert that stood in for a claimed start was answered. An alert that may have arrived is not repeated.
    package mutating func alertAnswered(_ answer: Answer, isRenewed: Bool) -> Again {
        if case .notSent = answer {
            hasFallenBack = false
            return tryAgain()
        }
        if isRenewed { return tryAgain() }
        (state, failures) = (.withheld, 0)
        return .never
    }

    /// The push did not arrive, so its claim does not count.
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
