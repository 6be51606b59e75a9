package import JSON

/// Decides what a start, an update or an end does to one activity, and takes the step.
///
/// It has no clock and stores nothing: it is built from the stored rows, asked once per request, in the order of
/// accept, and what it then holds is written back. Requests of one group commit run through one machine.
///
/// ```
/// absent ── start ──▶ scheduled ── due ──▶ live ── end ──▶ ended
///    └────── start ───────────────────────▶ │               ▲
///                     scheduled ── end ─────────────────────┘
/// ```
package struct ActivityStateMachine: Sendable, Hashable {
    /// The most `must_deliver` changes that may be open at once (promise 4).
    package static let maximumOpenBarriers = 8

    private enum State: Hashable {
        case absent
        case scheduled(ActivityStanding)
        case live(ActivityStanding)
        case ended(ActivityStanding)
    }

    private var state: State

    /// An id that names no activity yet.
    package init() { state = .absent }

    /// A stored activity.
    package init(state: ActivityState, standing: ActivityStanding) {
        switch state {
        case .scheduled: self.state = .scheduled(standing)
        case .live: self.state = .live(standing)
        case .ended: self.state = .ended(standing)
        }
    }

    /// Where the activity stands; `nil` for an id that names none yet.
    package var activityState: ActivityState? {
        switch state {
        case .absent: nil
        case .scheduled: .scheduled
        case .live: .live
        case .ended: .ended
        }
    }

    /// What is to be stored; `nil` for an id that names no activity yet.
    package var standing: ActivityStanding? {
        switch state {
        case .absent: nil
        case .scheduled(let standing), .live(let standing), .ended(let standing): standing
        }
    }
}

// MARK: Start

extension ActivityStateMachine {
    /// What a start leads to.
    package enum StartAction: Sendable, Hashable {
        /// The activity is new, and live from now on. A start is always stamped: nothing came before it.
        case accept(revision: Revision, timestamp: Timestamp)
        /// The activity is new and waits for its time; it is stamped when that has come.
        case schedule(revision: Revision)
        /// The very start that was accepted before; nothing changes, whatever came since.
        case replay(revision: Revision)
        /// A running activity of that id has other attributes.
        case refuseAttributesConflict
        /// The id is taken by a start that differs, or has been used up by an activity that ended.
        case refuseActivityExists
    }

    /// A start was requested, with its first content state; `isForLater` if its `starts_at` is still to come.
    package mutating func start(
        _ record: StartRecord,
        contentState: JSONValue,
        isForLater: Bool = false,
        now: Timestamp
    ) -> StartAction {
        switch state {
        case .absent:
            let timestamp = isForLater ? nil : Stamping.whenSent(now: now, last: nil)
            let standing = ActivityStanding(
                start: record,
                revision: 1,
                lastTimestamp: timestamp,
                contentState: contentState
            )
            guard let timestamp else {
                state = .scheduled(standing)
                return .schedule(revision: 1)
            }
            state = .live(standing)
            return .accept(revision: 1, timestamp: timestamp)
        case .scheduled(let standing), .live(let standing):
            if standing.start == record { return .replay(revision: standing.revision) }
            return standing.start.attributes == record.attributes ? .refuseActivityExists : .refuseAttributesConflict
        case .ended(let standing):
            return standing.start == record ? .replay(revision: standing.revision) : .refuseActivityExists
        }
    }

    /// What the time of a scheduled start leads to.
    package enum DueAction: Sendable, Hashable {
        /// The activity is live; its newest revision, whose updates came before the start included, has this stamp.
        case begin(revision: Revision, timestamp: Timestamp)
        /// It is live already, or has ended, or does not exist: nothing to do.
        case ignore
    }

    /// The time of a scheduled start has come.
    package mutating func startIsDue(now: Timestamp) -> DueAction {
        switch state {
        case .scheduled(var standing):
            let timestamp = Stamping.whenSent(now: now, last: standing.lastTimestamp)
            standing.lastTimestamp = timestamp
            state = .live(standing)
            return .begin(revision: standing.revision, timestamp: timestamp)
        case .absent, .live, .ended:
            return .ignore
        }
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
        /// No activity has this id.
        case refuseUnknown
        /// The activity has ended.
        case refuseEnded
        /// Something newer has been accepted.
        case refuseLateEvent
        /// Too many `must_deliver` changes are on their way.
        case refuseTooManyMustDeliver
    }

    /// An update was requested.
    package mutating func update(_ update: Update, now: Timestamp) -> UpdateAction {
        switch state {
        case .absent:
            return .refuseUnknown
        case .scheduled(var standing):
            let action = Self.apply(update, to: &standing, stamp: nil)
            state = .scheduled(standing)
            return action
        case .live(var standing):
            let stamp = Stamping.atAccept(now: now, last: standing.lastTimestamp)
            let action = Self.apply(update, to: &standing, stamp: stamp)
            state = .live(standing)
            return action
        case .ended:
            return .refuseEnded
        }
    }

    private static func apply(
        _ update: Update,
        to standing: inout ActivityStanding,
        stamp: Timestamp?
    ) -> UpdateAction {
        if let eventTime = update.eventTime, let newest = standing.eventTime, eventTime < newest {
            return .refuseLateEvent
        }
        let isUnchanged = !update.hasAlert && !update.force && update.contentState == standing.contentState
        if !isUnchanged, update.mustDeliver {
            guard standing.openBarriers < maximumOpenBarriers else { return .refuseTooManyMustDeliver }
            standing.openBarriers += 1
        }
        standing.eventTime = update.eventTime ?? standing.eventTime
        guard !isUnchanged else { return .unchanged(revision: standing.revision) }
        standing.revision += 1
        standing.contentState = update.contentState
        standing.lastTimestamp = stamp ?? standing.lastTimestamp
        return .accept(revision: standing.revision, timestamp: stamp)
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
        /// No activity has this id.
        case refuseUnknown
    }

    /// An end was requested; without a content state it keeps the newest accepted one (promise 5).
    package mutating func end(contentState: JSONValue?, now: Timestamp) -> EndAction {
        switch state {
        case .absent:
            return .refuseUnknown
        case .scheduled(let standing):
            return finish(standing, contentState, stamp: nil)
        case .live(let standing):
            return finish(standing, contentState, stamp: Stamping.atAccept(now: now, last: standing.lastTimestamp))
        case .ended(let standing):
            return .refuseEnded(revision: standing.revision)
        }
    }

    private mutating func finish(
        _ standing: ActivityStanding,
        _ contentState: JSONValue?,
        stamp: Timestamp?
    ) -> EndAction {
        var standing = standing
        standing.revision += 1
        standing.contentState = contentState ?? standing.contentState
        standing.lastTimestamp = stamp ?? standing.lastTimestamp
        state = .ended(standing)
        return .accept(revision: standing.revision, timestamp: stamp)
    }
}
