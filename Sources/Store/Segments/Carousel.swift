package import ActivityModel

/// One ring of destinations, walked by a cursor in the order of their device keys.
///
/// The walk always sends the newest revision. When a newer one appears, the walk continues with it from its place. The
/// lap is over when the cursor is back at the place where that revision was first sent. So a burst of changes costs the
/// pass plus one lap. Only this value has to be stored, once per acknowledged batch.
///
/// A revision that must be delivered (a barrier) is walked a whole lap of its own before the walk turns to newer ones.
///
/// Pure: no clock, no database. A device key of 0 stands before the first destination.
package struct Carousel: Hashable, Sendable {
    /// A revision that is carried around the ring once, and the place where it began.
    package struct Lap: Hashable, Sendable {
        /// The revision that is sent (or whose alert rides along).
        package let revision: Revision
        /// The cursor when it was first sent. The cursor stands before it only after the end of the ring was passed.
        package let origin: Int64

        package init(revision: Revision, origin: Int64) {
            self.revision = revision
            self.origin = origin
        }
    }

    /// The next step of the walk.
    package enum Step: Hashable, Sendable {
        /// Every destination has been sent the newest revision.
        case rest
        /// Send `revision` to destinations with `after < key`, and `key <= through` unless nil, in order of key.
        case send(revision: Revision, alert: Revision?, after: Int64, through: Int64?)
    }

    /// The device key of the last destination of the last acknowledged batch.
    package private(set) var cursor: Int64
    /// Every destination of the ring has been sent this revision or a newer one.
    package private(set) var completed: Revision
    /// The revision that is being carried around, if any.
    package private(set) var lap: Lap?
    /// The newest alert that some destinations have not heard yet. It never lasts longer than the lap.
    package private(set) var alert: Lap?
    /// Set while the walk has begun newer revisions than this, and has sent none of them to anybody: nobody rides, or
    /// nobody was reached. Nil if somebody was sent ``begun``, and if there was nobody to send to.
    package private(set) var unsentAfter: Revision?

    package init(
        cursor: Int64 = 0,
        completed: Revision = 0,
        lap: Lap? = nil,
        alert: Lap? = nil,
        unsentAfter: Revision? = nil
    ) {
        self.cursor = cursor
        self.completed = completed
        self.lap = lap
        self.alert = alert
        self.unsentAfter = unsentAfter
    }

    /// The newest revision that the walk has begun to send.
    package var begun: Revision { lap?.revision ?? completed }

    /// The newest revision that somebody was sent on the walk, before it passed those after it.
    package var sent: Revision { unsentAfter ?? begun }

    /// The next revision that the walk may send.
    package var upcoming: Revision { lap?.revision ?? completed + 1 }

    /// Turns the walk to a newer revision.
    ///
    /// One that was already begun changes nothing. Pass as `newAlert` the newest revision with an alert among those
    /// after the begun one and up to this, if any. It need not be this one. It replaces an older alert for those who
    /// have not heard that.
    package mutating func turn(to revision: Revision, alert newAlert: Revision?) {
        guard revision > begun else { return }
        unsentAfter = sent
        lap = Lap(revision: revision, origin: cursor)
        if let newAlert {
            alert = Lap(revision: newAlert, origin: cursor)
        }
    }

    /// Somebody was sent the begun revision, or may have been.
    package mutating func reached() { unsentAfter = nil }

    /// Somebody was sent a revision apart from the walk, so revisions that the walk has passed before it are merged
    /// into it. The walk has not passed the revision that it is about to send.
    package mutating func served(_ revision: Revision) {
        guard let unsentAfter, revision > unsentAfter else { return }
        let settled = min(revision, upcoming - 1)
        self.unsentAfter = settled < begun ? settled : nil
    }

    /// The next batch to send, or rest.
    package var next: Step {
        guard let lap else { return .rest }
        let bounds = [lap, alert].compactMap { $0 }.filter { hasPassedEnd(since: $0) }.map(\.origin)
        return .send(revision: lap.revision, alert: alert?.revision, after: cursor, through: bounds.min())
    }

    /// The batch of ``next`` has been answered.
    ///
    /// - Parameters:
    ///   - key: The device key of the last destination in it, nil for an empty batch.
    ///   - reachedBound: Whether no destination was left up to the bound of the batch.
    package mutating func acknowledge(through key: Int64?, reachedBound: Bool) {
        guard case .send(_, _, _, let bound) = next else { return }
        if let key {
            cursor = key
        }
        guard reachedBound || (bound != nil && key == bound) else { return }
        if let bound {
            cursor = bound
        } else {
            cursor = 0
        }
        if let alert, isOver(alert, bound: bound) {
            self.alert = nil
        }
        if let lap, isOver(lap, bound: bound) {
            completed = lap.revision
            self.lap = nil
            self.alert = nil
        }
    }

    private func hasPassedEnd(since lap: Lap) -> Bool { cursor < lap.origin }

    private func isOver(_ lap: Lap, bound: Int64?) -> Bool {
        if let bound {
            return lap.origin == bound
        }
        return lap.origin == 0
    }
}
