import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Store

/// Destinations that are served by their own row instead of the ring: late joiners, rotated tokens, retries.
///
/// Each is sent the newest state, with the newest alert that it has not heard; or before it the oldest must-deliver
/// change that it is owed (promise 4).
struct CatchUpTurn: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    /// How the ring stood at the look that this turn follows.
    let progress: SegmentProgress
    let activity: ActivitySnapshot

    /// At kick-off cards report without end that they show the newest state. Cards that come meanwhile get on the ring
    /// together.
    private static let gathering = Duration.milliseconds(100)

    /// - `last`: the device of the last card that the turn before has read, 0 before the first turn. So cards which are
    ///   due again soon do not keep the others waiting.
    func run(behind last: inout Int64) async throws -> TurnResult {
        // Each row is written in one transaction with the others: few, or changes wait for it.
        let limit = activity.batch(min(RingWalk.batchSize, room.settings.stretchSize))
        let page = try await nextPage(limit, behind: &last)
        let due = page.filter { $0.canDecode || $0.leaving || activity.state == .ended }
        guard !due.isEmpty else { return .idle }
        let leaving = due.filter(\.leaving)
        let (behind, level) = due.filter { !$0.leaving }.partitioned { $0.knownRevision >= activity.newest }
        let (unsure, current) = level.partitioned { $0.confirmedRevision >= activity.newest }
        if !current.isEmpty {
            try await store([Destination.backOnRing(current, activity.key, activity.newest)], of: current)
        }
        let pushes = TokenPushes(room: room, slot: slot, lease: lease, activity: activity)
        for (revision, destinations) in try await owed(to: behind) {
            try await send(revision, to: destinations, pushes)
        }
        if !leaving.isEmpty { try await dismiss(leaving, pushes) }
        // Last: a stamp that would run ahead of the clock holds up nobody else.
        let isAssured = unsure.isEmpty ? false : try await assure(unsure, pushes)
        if due.count == current.count, due.count < limit { return .early(Self.gathering) }
        return isAssured || due.count > unsure.count ? .worked : .idle
    }

    /// The due cards after those of the turn before, in the order of their devices. After the last come the first
    /// again.
    private func nextPage(_ limit: Int, behind last: inout Int64) async throws -> [Destination] {
        let first = progress.range.after
        let behind = max(last, first)
        var page = try await read(after: behind, limit)
        if page.isEmpty, behind > first { page = try await read(after: first, limit) }
        last = page.count == limit ? page.last?.deviceKey ?? first : first
        return page
    }

    private func read(after key: Int64, _ limit: Int) async throws -> [Destination] {
        let range = RingRange(after: key, through: progress.range.through)
        let page = Destination.due(in: activity.key, range, ifNewestIs: activity.newest, limit: limit)
        return try await Destination.read(page, from: room.database)
    }

    /// Who is sent which revision next, the older ones first: a fresh stamp of theirs comes before one of the newest.
    private func owed(to destinations: [Destination]) async throws -> [(Revision, [Destination])] {
        let barriers = activity.state == .ended ? [] : try await barriers(for: destinations)
        let groups = Dictionary(grouping: destinations) { destination in
            let has = max(destination.heardRevision, destination.knownRevision, destination.decodesFrom - 1)
            return barriers.first { $0 > has } ?? activity.newest
        }
        return groups.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func barriers(for destinations: [Destination]) async throws -> [Revision] {
        guard let least = destinations.map(\.heardRevision).min() else { return [] }
        return try await room.changes.barriers(activity.key, after: least, upTo: activity.newest)
    }

    private func send(_ revision: Revision, to destinations: [Destination], _ pushes: TokenPushes) async throws {
        guard let change = try await room.changes.stamped(revision, under: lease) else { return }
        // The newest alert after the least of their revisions is the newest for everybody who has not heard it.
        let least = destinations.map(\.heardRevision).min() ?? revision
        let alert = try await room.changes.newestAlert(activity.key, after: least, upTo: revision)
        let (begun, exceptions) =
            try await pushes
            .send(
                change,
                to: destinations.map { destination in
                    let owed = alert.flatMap { $0.revision > destination.heardRevision ? $0 : nil }
                    return TokenPushes.Push(destination, alert: owed, heardIfRefused: destination.heardRevision)
                }
            )
        let done = exceptions.settled(of: begun)
        let settled =
            revision < activity.newest
            ? Destination.owedMore(done, activity.key, than: revision)
            : Destination.backOnRing(done, activity.key, revision)
        try await store(
            exceptions.statements + [settled],
            of: begun,
            with: exceptions.mayHaveArrived ? change : nil,
            alertStamp: alert == nil ? nil : change.timestamp
        )
    }

    /// Sends the newest state once more where APNs has accepted it and the phone may not have it. These are tokens that
    /// replace others, which may have been void, and cards that say they show an older state. The push is no news to a phone
    /// that has the state, so it spends no budget and tells no alert. If an alert left under its stamp, these are other
    /// bytes, which need a stamp of their own (promise 3).
    ///
    /// - Returns: False if that has to wait: a newer stamp would break off the walk that tells the alert.
    private func assure(_ destinations: [Destination], _ pushes: TokenPushes) async throws -> Bool {
        guard var change = try await room.changes.stamped(activity.newest, under: lease) else { return true }
        if change.timestamp == progress.alertStamp {
            guard progress.carousel.lap == nil else { return false }
            guard let anew = try await room.changes.stamped(activity.newest, under: lease, anew: true)
            else { return true }
            change = anew
        }
        let (begun, exceptions) =
            try await pushes
            .send(
                change,
                to: destinations.map { TokenPushes.Push($0, alert: nil, heardIfRefused: $0.heardRevision) },
                fixedPriority: PriorityRule.repeated(change.kind)
            )
        let done = exceptions.settled(of: begun)
        try await store(
            exceptions.statements + [Destination.backOnRing(done, activity.key, change.revision)],
            of: begun,
            with: exceptions.mayHaveArrived ? change : nil
        )
        return true
    }

    /// Ends cards while the activity still runs, and forgets them, also cards that can never be reached.
    private func dismiss(_ leaving: [Destination], _ pushes: TokenPushes) async throws {
        guard let change = try await room.changes.stamped(activity.newest, under: lease) else { return }
        let (begun, exceptions) =
            try await pushes
            .send(
                change.asEnd,
                to: leaving.map { TokenPushes.Push($0, alert: nil, heardIfRefused: $0.heardRevision) },
                fixedPriority: PriorityRule.end.priority
            )
        // A user who followed again meanwhile still had this card then, and was not enrolled.
        let deviceKeys = begun.map(\.deviceKey)
        let enrolment = DeliveryStore.enrolment(ofForgotten: deviceKeys, in: activity.key)
        try await store(
            exceptions.statements
                + [Destination.forget(begun, settled: exceptions.settled(of: begun), activity.key)] + enrolment.after,
            of: begun,
            after: enrolment.before
        )
        // Whoever has followed since that statement, and before the commit, still saw this card.
        try await room.work.enrol(deviceKeys: deviceKeys, in: activity.key, isReport: false)
    }

    /// A worker that was paused past its lease stores nothing: its successor has read the rows and acts on them.
    ///
    /// With a `change`, records that it was sent to somebody. Revisions that the ring passed before, while nobody rode,
    /// are merged into it. Changes are locked before cards, as everybody does who stores what a ring has sent. The `locks`
    /// come between them.
    private func store(
        _ statements: [Query],
        of destinations: [Destination],
        with change: ChangeToSend? = nil,
        alertStamp: Timestamp? = nil,
        after locks: [Query] = []
    ) async throws {
        let cards = destinations.map { CardKey(activityKey: activity.key, deviceKey: $0.deviceKey) }
        var carousel = progress.carousel
        var changes: [Query] = []
        if let change {
            let (revision, upcoming) = (change.revision, min(change.revision, carousel.upcoming))
            // Cards may come back that were away while the ring passed changes without anybody on it.
            let sent = destinations.map(\.knownRevision).filter { $0 > 0 }.reduce(carousel.sent, min)
            changes = ChangeStore.merge(under: lease, after: sent, before: upcoming, into: revision)
            if !change.isSent { changes.append(ChangeStore.markSent(revision, of: activity.key)) }
            carousel.served(revision)
        }
        try await room.segments.store(
            [.planningOnce] + changes + locks + CardKey.hold(cards) + statements,
            alertStamp: alertStamp,
            carousel == progress.carousel ? nil : carousel,
            under: lease
        )
    }
}

extension [Destination] {
    /// The destinations that do not fulfil a condition, and those that do.
    fileprivate func partitioned(
        by condition: (Destination) -> Bool
    ) -> (others: [Destination], matching: [Destination]) {
        (filter { !condition($0) }, filter(condition))
    }
}
