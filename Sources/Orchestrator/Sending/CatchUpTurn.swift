import ActivityModel
import Postgres

/// Destinations that are served by their own row instead of the ring: late joiners, rotated tokens, retries.
///
/// Each is sent the newest state, with the newest alert that it has not heard; or before it the oldest must-deliver
/// change that it is owed (promise 4).
struct CatchUpTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    /// What of the activity the ring holds.
    let range: RingRange
    let activity: ActivitySnapshot

    func run() async throws -> SegmentWorker.Turn {
        // Whoever is due can decode the newest state, or is to be sent an end. If there is another state by now, it may
        // be the only one; and if another version is decoded by now, that is settled first.
        let due = try await Destination.read(
            """
            SELECT \(unescaped: Destination.columns), \(unescaped: Destination.canDecode),
                   \(unescaped: Destination.decodesFrom)
            FROM subscriptions
            WHERE activity_key = \(activity.key) AND mode = 'token' AND state = 'due' AND due_at <= now()
              AND device_key > \(range.after) AND device_key <= \(range.through)
              AND EXISTS (SELECT FROM activities AS a WHERE a.activity_key = \(activity.key) AND a.revision = \(activity.newest))
            ORDER BY due_at LIMIT \(activity.batch(RingWalk.batchSize))
            """,
            from: orchestrator.database
        ).filter { $0.canDecode || $0.leaving || activity.state == .ended }
        guard !due.isEmpty else { return .idle }
        let leaving = due.filter(\.leaving)
        let (behind, level) = due.filter { !$0.leaving }.partitioned { $0.knownRevision >= activity.newest }
        let (unsure, current) = level.partitioned { $0.confirmedRevision >= activity.newest }
        if !current.isEmpty {
            try await store([Destination.backOnRing(current, activity.key, activity.newest)], of: current)
        }
        let pushes = TokenPushes(orchestrator: orchestrator, lease: lease, activity: activity)
        if !unsure.isEmpty { try await assure(unsure, pushes) }
        for (revision, destinations) in try await owed(to: behind) {
            try await send(revision, to: destinations, pushes)
        }
        if !leaving.isEmpty { try await dismiss(leaving, pushes) }
        return .worked
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
        let rows = try await orchestrator.database.query(
            """
            SELECT revision FROM changes
            WHERE activity_key = \(activity.key) AND must_deliver AND revision > \(least)
              AND revision <= \(activity.newest)
            ORDER BY revision
            """
        )
        return try rows.decoded(as: Int64.self)
    }

    private func send(_ revision: Revision, to destinations: [Destination], _ pushes: TokenPushes) async throws {
        guard let change = try await orchestrator.changes.stamped(revision, under: lease) else { return }
        var alerts: [Revision: OwedAlert] = [:]
        for heard in Set(destinations.map(\.heardRevision)) {
            alerts[heard] = try await orchestrator.changes.newestAlert(activity.key, after: heard, upTo: revision)
        }
        let (begun, exceptions) =
            try await pushes
            .send(
                change,
                to: destinations.map {
                    TokenPushes.Push($0, alert: alerts[$0.heardRevision], heardIfRefused: $0.heardRevision)
                }
            )
        let done = exceptions.settled(of: begun)
        let settled =
            revision < activity.newest
            ? Destination.owedMore(done, activity.key, than: revision)
            : Destination.backOnRing(done, activity.key, revision)
        try await store(exceptions.statements + [settled], of: begun)
    }

    /// Sends the newest state once more to tokens that replace others: APNs accepted it for those, which may have been
    /// void already. It is no news to a phone that has it, so it spends no budget and tells no alert.
    private func assure(_ destinations: [Destination], _ pushes: TokenPushes) async throws {
        guard let change = try await orchestrator.changes.stamped(activity.newest, under: lease) else { return }
        let (begun, exceptions) =
            try await pushes
            .send(
                change,
                to: destinations.map { TokenPushes.Push($0, alert: nil, heardIfRefused: $0.heardRevision) },
                fixedPriority: change.kind == .end ? .ten : .five
            )
        let done = exceptions.settled(of: begun)
        try await store(
            exceptions.statements + [Destination.backOnRing(done, activity.key, change.revision)],
            of: begun
        )
    }

    /// Ends cards while the activity goes on, and forgets them; also those that can never be reached.
    private func dismiss(_ leaving: [Destination], _ pushes: TokenPushes) async throws {
        guard let change = try await orchestrator.changes.stamped(activity.newest, under: lease) else { return }
        let (begun, exceptions) =
            try await pushes
            .send(
                change.asEnd,
                to: leaving.map { TokenPushes.Push($0, alert: nil, heardIfRefused: $0.heardRevision) },
                fixedPriority: .ten
            )
        try await store(
            exceptions.statements + [Destination.forget(exceptions.settled(of: begun), activity.key)],
            of: begun
        )
    }

    /// A worker that was paused past its lease stores nothing: its successor has read the rows and acts on them.
    private func store(_ statements: [Query], of destinations: [Destination]) async throws {
        let cards = destinations.map { CardKey(activityKey: activity.key, deviceKey: $0.deviceKey) }
        try await orchestrator.segments.store(CardKey.hold(cards) + statements, under: lease)
    }
}

extension [Destination] {
    /// Those that do not fulfil a condition, and those that do.
    fileprivate func partitioned(
        by condition: (Destination) -> Bool
    ) -> (others: [Destination], matching: [Destination]) {
        (filter { !condition($0) }, filter(condition))
    }
}
