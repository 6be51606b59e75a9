import ActivityModel
import Postgres
package import Store

extension SegmentStore {
    /// Looks which of the leased segments have so little to do that they can be served together.
    package func smallSegments(among leases: [SegmentLease]) async throws -> [SmallSegment] {
        let rings = leases.filter(\.isFirstRing)
        let channels = leases.filter(\.isChannel)
        let (ringKeys, channelKeys) = (rings.map(\.activityKey), channels.map(\.activityKey))
        var looks: [(query: Query, read: (Rows) throws -> [SmallSegment])] = []
        if !rings.isEmpty {
            looks.append((PlainUpdate.selectionOfRings(ringKeys, of: daemon), { try PlainUpdate.rings(rings, $0) }))
        }
        if !channels.isEmpty {
            looks += [
                (PlainUpdate.selectionOfChannels(channelKeys, of: daemon), { try PlainUpdate.channels(channels, $0) }),
                (ChannelToMake.selection(channelKeys, of: daemon), { try ChannelToMake.read(channels, $0) }),
            ]
        }
        guard !looks.isEmpty else { return [] }
        let results = try await database.pipeline([.planningOnce] + looks.map(\.query))
        return try zip(looks, results.dropFirst()).flatMap { try $0.read($1) }
    }

    /// Ends the leases of segments whose pushes were all accepted, and stores that they were sent.
    ///
    /// - Returns: Whether some are due now.
    package func complete(_ updates: [PlainUpdate]) async throws -> Bool {
        let rings = updates.filter { $0.audience.riders != nil }
        let broadcasts = updates.filter { $0.audience.riders == nil }
        let areRingsDue = try await rings.isEmpty ? false : completeRings(rings)
        let areChannelsDue = try await broadcasts.isEmpty ? false : completeBroadcasts(broadcasts)
        return areRingsDue || areChannelsDue
    }

    /// Ends the leases of rings whose pushes were all accepted, and stores their walks and merges. As
    /// ``acknowledge(_:_:hasFailed:hasSent:alertStamp:restingIfStill:with:)`` and ``rest(_:wakesSeen:hold:)`` in one.
    ///
    /// One that was given work meanwhile is due at once. If a lease is lost, only this is stored: the change was sent.
    /// Otherwise a card that joins later and knows an older revision would have it merged.
    ///
    /// - Returns: Whether some are due now.
    private func completeRings(_ rings: [PlainUpdate]) async throws -> Bool {
        let rings = rings.sorted { $0.lease.activityKey < $1.lease.activityKey }
        // Rows are locked in the order in which everybody locks segments, because the loop over the rings is the outer
        // one. Such a ring has nothing that is due later: the look has found no start and no row of its own, and
        // whoever brings one wakes the ring.
        let completed = SegmentRows.completedRings(
            rings.map(\.lease),
            begun: rings.map(\.begun),
            rings.map(\.change.revision),
            wakes: rings.map(\.wakes)
        )
        let statement: Query = """
            WITH mine AS (
                \(part: completed)
            )
            \(unescaped: rings.allSatisfy(\.isStep) ? Self.onlyCompleted : Self.recordingMerges)
            """
        let marks = Self.marks(of: rings.filter { !$0.change.isSentWithRing })
        let rows = try await database.pipeline([.planningOnce] + marks + [statement]).last
        let ended = try rows?.decoded(as: (Int64, Bool).self) ?? []
        if ended.count < rings.count {
            // Whoever has the lease of the others now could tell of their changes as merged.
            let keys = Set(ended.map(\.0))
            let lost = rings.filter { $0.change.isSentWithRing && !keys.contains($0.lease.activityKey) }
            if !lost.isEmpty { _ = try await database.pipeline([.planningOnce] + Self.marks(of: lost)) }
        }
        return ended.contains { $0.1 }
    }

    private static func marks(of rings: [PlainUpdate]) -> [Query] {
        guard !rings.isEmpty else { return [] }
        return [ChangeStore.markSent(rings.map(\.change.revision), of: rings.map(\.lease.activityKey))]
    }

    /// The rest of the statement after the table `mine` if no revision was jumped over, as nearly always.
    private static let onlyCompleted = "SELECT activity_key, is_due FROM mine"

    /// The same if revisions were jumped over: records them as merged, and writes events.
    private static let recordingMerges = """
        , merged AS (
            UPDATE changes AS c
            SET merged_into = (
                SELECT min(n.revision) FROM changes AS n WHERE n.activity_key = c.activity_key
                  AND n.revision > c.revision AND (\(SentChange.isSent("n")) OR n.revision = mine.revision)
            )
            FROM mine
            WHERE \(Query.byKey("c", "mine", "activity_key")) AND c.revision > mine.begun AND c.revision < mine.revision
              AND \(ChangeStore.isUnsent)
            RETURNING c.activity_key, c.revision, c.merged_into
        ), told AS (
            \(EventRows.merge(from: "merged"))
        )
        \(onlyCompleted)
        """

    /// Prolongs leases that nobody else has taken.
    package func renew(_ leases: [SegmentLease]) async throws {
        try await set(leases, to: lease)
    }

    /// Gives leases back at once, for whoever is free.
    package func release(_ leases: [SegmentLease]) async throws {
        try await set(leases, to: nil)
    }

    /// Sets the remaining time of leases; nil ends them.
    private func set(_ leases: [SegmentLease], to time: Duration?) async throws {
        guard !leases.isEmpty else { return }
        _ = try await database.execute(SegmentRows.setRemainingTime(of: leases, to: time))
    }
}
