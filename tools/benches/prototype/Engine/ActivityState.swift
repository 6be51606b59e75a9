package import ActivityModel

/// One accepted change, as the log holds it.
package struct Change: Sendable, Hashable {
    package let revision: Int64
    package let isEnd: Bool
    package let stamp: Int64
    package let content: [UInt8]

    package init(revision: Int64, isEnd: Bool, stamp: Int64, content: [UInt8]) {
        self.revision = revision
        self.isEnd = isEnd
        self.stamp = stamp
        self.content = content
    }
}

/// One phone of a small activity.
package struct Card: Sendable, Hashable {
    package let device: Int64
    package let token: [UInt8]
    /// The newest revision that APNs accepted for it.
    package var sent: Int64
    package var isDead = false

    package init(device: Int64, token: [UInt8], sent: Int64) {
        self.device = device
        self.token = token
        self.sent = sent
    }
}

/// Who follows an activity.
package enum Audience: Sendable, Hashable {
    /// Up to 64 phones, held in memory.
    case cards([Card])
    /// More phones, read page by page.
    case ring
    case channel(APNSChannelID)
}

/// What a daemon knows of one live activity. It accepts changes by it, and the owner sends by it.
///
/// Pure: no clock and no database. The log's primary key guards it: a change is written as the revision after the known
/// one. If another daemon was faster, that row exists, nothing is written, and this state is read again.
package struct ActivityState: Sendable {
    /// What becomes of a change.
    package enum Judgement: Sendable, Hashable {
        /// Write it under this revision and stamp.
        case write(revision: Int64, stamp: Int64)
        case refuseEnded
        /// Another change of the activity is being written, or the state must be read again. Ask again afterwards.
        case wait
    }

    /// What to push to whom.
    package struct Order: Sendable {
        package let change: Change
        package let audience: Audience
    }

    package let key: Int64
    package let partition: Int16
    /// The newest revision in the log that this daemon knows.
    package private(set) var revision: Int64
    package private(set) var stamp: Int64
    package private(set) var isEnded: Bool
    package private(set) var audience: Audience
    /// The newest revision that a whole pass has brought to everybody it could reach.
    package private(set) var sent: Int64
    /// Pushes that APNs accepted and that no record counts yet.
    package private(set) var unrecorded = 0
    /// The attempts in a row that left somebody out.
    package private(set) var failures = 0
    private var newest: Change?
    private var isWriting = false
    private var isStale = false
    private var passRevision: Int64?
    private var isPausing = false

    package init(key: Int64, partition: Int16, newest: Change, sent: Int64, audience: Audience) {
        self.key = key
        self.partition = partition
        self.audience = audience
        self.sent = sent
        revision = newest.revision
        stamp = newest.stamp
        isEnded = newest.isEnd
        self.newest = newest.revision > sent ? newest : nil
    }

    // MARK: Accepting

    /// Decides about a change. After ``Judgement/write(revision:stamp:)`` the caller reports the result.
    package mutating func judge(at now: Int64) -> Judgement {
        if isWriting || isStale { return .wait }
        if isEnded { return .refuseEnded }
        isWriting = true
        return .write(revision: revision + 1, stamp: max(now, stamp + 1))
    }

    /// The change was committed.
    package mutating func committed(_ change: Change) {
        isWriting = false
        learned(change)
    }

    /// The guard missed, or the outcome of the write is unknown: what is known is out of date.
    package mutating func missed() {
        isWriting = false
        isStale = true
    }

    /// Takes over what was read from the database.
    package mutating func refreshed(_ change: Change) {
        learned(change)
        isStale = false
    }

    /// A change was found in the log. It may come late or twice.
    package mutating func learned(_ change: Change) {
        guard change.revision > revision || (change.revision == revision && newest == nil && change.revision > sent)
        else { return }
        revision = change.revision
        stamp = max(stamp, change.stamp)
        isEnded = isEnded || change.isEnd
        newest = change
    }

    // MARK: Sending

    /// Whether a pass would have something to do.
    package var isBehind: Bool { sent < revision }

    /// The change that a pass under way should carry now.
    package var current: Change? { newest }

    /// Starts a pass with the newest revision, unless one is under way or nobody is behind.
    package mutating func beginPass() -> Order? {
        guard passRevision == nil, !isPausing, isBehind, let newest else { return nil }
        passRevision = newest.revision
        guard case .cards(let cards) = audience else { return Order(change: newest, audience: audience) }
        let behind = cards.filter { !$0.isDead && $0.sent < newest.revision }
        return Order(change: newest, audience: .cards(behind))
    }

    /// Ends the pass. `failed` are the devices to try again, `dead` those whose token has died.
    ///
    /// - Returns: Whether somebody must be tried again after a pause. No pass begins before ``pauseEnded()``.
    package mutating func endPass(
        through revision: Int64,
        accepted: Int,
        failed: Set<Int64> = [],
        dead: Set<Int64> = [],
        isComplete: Bool = true
    ) -> Bool {
        passRevision = nil
        unrecorded += accepted
        if case .cards(var cards) = audience {
            for index in cards.indices where !failed.contains(cards[index].device) {
                cards[index].sent = max(cards[index].sent, revision)
                if dead.contains(cards[index].device) { cards[index].isDead = true }
            }
            audience = .cards(cards)
        }
        guard failed.isEmpty, isComplete else {
            failures += 1
            isPausing = true
            return true
        }
        failures = 0
        sent = max(sent, revision)
        if let newest, newest.revision <= sent { self.newest = nil }
        return false
    }

    /// The pause after a failed pass is over.
    package mutating func pauseEnded() {
        isPausing = false
    }

    /// A record counts the accepted pushes.
    package mutating func recorded(_ pushes: Int) {
        unrecorded -= pushes
    }
}
