package import JSON

/// Decides what an update or an end does to one activity, and applies it.
///
/// It has no clock and stores nothing. The caller builds it from the stored row and calls it once per request, in the
/// order of accept. Then the caller stores the new state. Requests of one group commit share one machine. It does not
/// handle the beginning of an activity. A start inserts the row, and a scheduled start becomes live when it is due.
/// Each is one SQL statement without a decision.
///
/// ```
/// start ──▶ scheduled ── due ──▶ live ── end ──▶ ended
///               └───────── end ──────────────────▶
/// ```
package struct ActivityStateMachine: Sendable, Hashable {
    /// The most `must_deliver` changes that may be open at once (promise 4).
    package static let maximumOpenBarriers = 8
    /// How far the time of an event may lie after its update is accepted, in seconds. Until a time far in the future has
    /// come, every correct update would be late.
    package static let maximumEventLead: Int64 = 300

    /// The lifecycle state of the activity.
    package private(set) var state: ActivityState
    /// The values to store.
    package private(set) var standing: ActivityStanding

    /// A stored activity.
    package init(state: ActivityState, standing: ActivityStanding) {
        self.state = state
        self.standing = standing
    }
}

// MARK: Update

extension ActivityStateMachine {
    /// The parts of an update that matter for the decision.
    package struct Update: Sendable, Hashable {
        /// The new content state.
        package var contentState: JSONValue
        /// Whether it brings an alert.
        package var hasAlert = false
        /// Whether every destination must get its own push for it, by the caller's wish or a rule.
        package var mustDeliver = false
        /// Whether it counts as a change even if the content state is equal.
        package var force = false
        /// When it happened, in microseconds since 1970.
        package var eventTime: Int64?
        /// When it is to be accepted, if that is to come.
        package var at: Timestamp?
        /// Whether it was accepted earlier, to be run now. Then a time in the future does not refuse it any more.
        package var isScheduled = false

        /// An update that only brings a content state.
        package init(contentState: JSONValue) { self.contentState = contentState }
    }

    /// The result of an update.
    package enum UpdateAction: Sendable, Hashable {
        /// A new revision. If it has no stamp, the sender gives one. A scheduled activity never has a stamp yet.
        case accept(revision: Revision, timestamp: Timestamp?)
        /// The state equals the newest one and there is no alert, so no push leaves. A newer event time is stored.
        case unchanged(revision: Revision)
        /// The activity has ended.
        case refuseEnded
        /// Its event is too far in the future.
        case refuseFutureEvent
        /// A newer event has been accepted before, of this time.
        case refuseLateEvent(newest: Int64)
        /// Too many `must_deliver` changes are still open.
        case refuseTooManyMustDeliver
    }

    /// Handles a request for an update.
    package mutating func update(_ update: Update, now: Timestamp) -> UpdateAction {
        if state == .ended { return .refuseEnded }
        let time = max(now, update.at ?? now)
        var eventTime = update.eventTime
        if let claimed = eventTime, Self.isFuture(claimed, at: time) {
            guard update.isScheduled else { return .refuseFutureEvent }
            // Run early by hand. Updates of what happens meanwhile must not be late.
            eventTime = time * 1_000_000
        }
        if let eventTime {
            if let newest = standing.eventTime, eventTime < newest { return .refuseLateEvent(newest: newest) }
        }
        let isUnchanged = !update.hasAlert && !update.force && update.contentState == standing.contentState
        if !isUnchanged, update.mustDeliver, let open = standing.openBarriers {
            guard open < Self.maximumOpenBarriers else { return .refuseTooManyMustDeliver }
            standing.openBarriers = open + 1
        }
        standing.eventTime = eventTime ?? standing.eventTime
        guard !isUnchanged else { return .unchanged(revision: standing.revision) }
        let stamp = add(update.contentState, now: now)
        return .accept(revision: standing.revision, timestamp: stamp)
    }

    /// Whether an event is too far in the future of a time at which its update is accepted. `eventTime` is in
    /// microseconds.
    package static func isFuture(_ eventTime: Int64, at time: Timestamp) -> Bool {
        eventTime / 1_000_000 > time + maximumEventLead
    }

    /// Adds a revision and returns its stamp. `nil`: the sender gives the stamp later, as always while it is scheduled.
    private mutating func add(_ contentState: JSONValue, now: Timestamp) -> Timestamp? {
        let stamp = state == .live ? Stamping.atAccept(now: now, last: standing.lastTimestamp) : nil
        standing.revision += 1
        standing.contentState = contentState
        standing.lastTimestamp = stamp ?? standing.lastTimestamp
        return stamp
    }
}

// MARK: End

extension ActivityStateMachine {
    /// The result of an end.
    package enum EndAction: Sendable, Hashable {
        /// The last revision. If it has no stamp, the sender gives one. An activity that never started needs no stamp.
        case accept(revision: Revision, timestamp: Timestamp?)
        /// The activity has already ended like this, so nothing changes.
        case repeated(revision: Revision)
        /// The activity has already ended with another content state, and the end is final.
        case refuseEnded
    }

    /// Handles a request for an end. Without a content state it carries the newest accepted one (promise 5).
    package mutating func end(contentState: JSONValue?, now: Timestamp) -> EndAction {
        if state == .ended {
            let isSame = contentState == nil || contentState == standing.contentState
            return isSame ? .repeated(revision: standing.revision) : .refuseEnded
        }
        let stamp = add(contentState ?? standing.contentState, now: now)
        state = .ended
        return .accept(revision: standing.revision, timestamp: stamp)
    }
}
