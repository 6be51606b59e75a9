package import JSON

/// Decides what an update or an end does to one activity, and takes the step.
///
/// It has no clock and stores nothing: it is built from the stored row, asked once per request, in the order of accept,
/// and what it then holds is written back. Requests of one group commit run through one machine. How an activity begins
/// is not decided here: a start makes the row, and the time of a scheduled one makes it live, each in one statement
/// that asks for nothing else.
///
/// ```
/// start ──▶ scheduled ── due ──▶ live ── end ──▶ ended
///               └───────── end ──────────────────▶
/// ```
package struct ActivityStateMachine: Sendable, Hashable {
    /// The most `must_deliver` changes that may be open at once (promise 4).
    package static let maximumOpenBarriers = 8

    /// Where the activity stands.
    package private(set) var state: ActivityState
    /// What is to be stored.
    package private(set) var standing: ActivityStanding

    /// A stored activity.
    package init(state: ActivityState, standing: ActivityStanding) {
        self.state = state
        self.standing = standing
    }
}

// MARK: Update

extension ActivityStateMachine {
    /// An update as far as it matters here.
    package struct Update: Sendable, Hashable {
        /// The new content state.
        package var contentState: JSONValue
        /// Whether it brings an alert.
        package var hasAlert = false
        /// Whether every destination must get a push of its own for it, as the caller or a rule says.
        package var mustDeliver = false
        /// Whether it counts as a change even if nothing is different.
        package var force = false
        /// When it happened, in microseconds since 1970.
        package var eventTime: Int64?

        /// An update that only brings a content state.
        package init(contentState: JSONValue) { self.contentState = contentState }
    }

    /// What an update leads to.
    package enum UpdateAction: Sendable, Hashable {
        /// A new revision. Without a stamp the sender gives one, and so it is for an activity that is still scheduled.
        case accept(revision: Revision, timestamp: Timestamp?)
        /// The state is the newest one already and there is no alert: nothing is sent. A newer event time is kept.
        case unchanged(revision: Revision)
        /// The activity has ended.
        case refuseEnded
        /// Something newer has been accepted.
        case refuseLateEvent
        /// Too many `must_deliver` changes are on their way.
        case refuseTooManyMustDeliver
    }

    /// An update was requested.
    package mutating func update(_ update: Update, now: Timestamp) -> UpdateAction {
        if state == .ended { return .refuseEnded }
        if let eventTime = update.eventTime, let newest = standing.eventTime, eventTime < newest {
            return .refuseLateEvent
        }
        let isUnchanged = !update.hasAlert && !update.force && update.contentState == standing.contentState
        if !isUnchanged, update.mustDeliver, let open = standing.openBarriers {
            guard open < Self.maximumOpenBarriers else { return .refuseTooManyMustDeliver }
            standing.openBarriers = open + 1
        }
        standing.eventTime = update.eventTime ?? standing.eventTime
        guard !isUnchanged else { return .unchanged(revision: standing.revision) }
        let stamp = add(update.contentState, now: now)
        return .accept(revision: standing.revision, timestamp: stamp)
    }

    /// A new revision and its stamp; nil: the sender gives one, and so it is while the activity is scheduled.
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
    /// What an end leads to.
    package enum EndAction: Sendable, Hashable {
        /// The last revision. Without a stamp the sender gives one; an activity that never started needs none.
        case accept(revision: Revision, timestamp: Timestamp?)
        /// The activity was ended before: the end is final.
        case refuseEnded(revision: Revision)
    }

    /// An end was requested; without a content state it keeps the newest accepted one (promise 5).
    package mutating func end(contentState: JSONValue?, now: Timestamp) -> EndAction {
        if state == .ended { return .refuseEnded(revision: standing.revision) }
        let stamp = add(contentState ?? standing.contentState, now: now)
        state = .ended
        return .accept(revision: standing.revision, timestamp: stamp)
    }
}
