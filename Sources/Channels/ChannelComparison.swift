import APITypes
import ActivityModel

/// Apple's list of an app's channels, our records and their activities, compared: what has to happen so that no channel
/// leaks and none is believed in that is gone (promise 11).
///
/// Pure: the time is an argument, and nothing is done here. Apple's list shows ids only, no times (Apple, "Sending
/// channel management requests to APNs"), so how long an unknown channel has been there is how long we have seen it.
struct ChannelComparison: Sendable {
    /// A channel of ours: one that Apple should know, or one that Apple lists.
    struct Record: Sendable, Hashable {
        let id: ChannelID
        let apnsID: APNSChannelID
        let state: ChannelState
        /// When it came into the state ready, deleted or lost. Means nothing in other states.
        let since: Instant
        /// The activity that it serves; nil for one that was never used.
        let activity: ActivityID?
        /// Whether the end of that activity was sent on it, so that it only waits for its deletion.
        let isDone: Bool
    }

    /// What is to be done about one channel.
    enum Decision: Sendable, Hashable {
        /// Ours and gone at Apple, while it was to be used: lost. An activity that still runs needs another one.
        case lose(Record, replace: Bool)
        /// Ours and gone at Apple, when nothing was to be sent on it any more: it counts as deleted.
        case settle(Record)
        /// Ours and gone for us, but Apple has it: it is deleted once more.
        case deleteAgain(Record)
        /// Not ours, and left alone. With `deleteAt` until that time; without, for ever.
        case watch(APNSChannelID, firstSeen: Instant, deleteAt: Instant?)
        /// Not ours for long enough, in an app whose channels all belong to Tally.
        case deleteUnknown(APNSChannelID, firstSeen: Instant)
        /// Was seen as unknown, and is gone or known now.
        case forget(APNSChannelID)
    }

    /// How long Apple's hosts may disagree about a channel after Apple made or deleted it, in seconds.
    static let settlingTime: Int64 = 60
    /// How long an unknown channel is left alone, in seconds. It may be one that Tally is making at this moment, or
    /// that of another system which the operator has overlooked (promise 11).
    static let unknownGrace: Int64 = 24 * 3600

    /// How many channels Apple lists.
    let listed: Int
    /// How many of them are in use or kept ready.
    let known: Int
    /// How many of the known ones have never been used.
    let unused: Int
    /// First ours, in the order of the records; then the unknown ones, in Apple's order; then what is forgotten.
    let decisions: [Decision]

    /// - Parameters:
    ///   - list: Apple's.
    ///   - records: ours that are ready or being deleted, and any other of ours that is in the list.
    ///   - running: the activities of the records that have not ended.
    ///   - sightings: the unknown ones of earlier comparisons, with the time of the first.
    ///   - isExclusive: whether no other system makes channels for the app.
    ///   - listedAt: a time before the request for the list.
    init(
        listed list: [APNSChannelID],
        records: [Record],
        running: Set<ActivityID>,
        sightings: [APNSChannelID: Instant],
        isExclusive: Bool,
        listedAt: Instant
    ) {
        let listed = Set(list)
        let settled = listedAt.adding(seconds: -Self.settlingTime)
        var decisions: [Decision] = []
        var (known, unused) = (0, 0)
        for record in records {
            let isListed = listed.contains(record.apnsID)
            if isListed, record.state == .ready || record.state == .deleting {
                known += 1
                unused += record.state == .ready && record.activity == nil ? 1 : 0
            }
            decisions += Self.decision(record, isListed: isListed, running: running, settled: settled)
        }
        let ours = Set(records.map(\.apnsID))
        var seen: Set<APNSChannelID> = []
        for id in list where !ours.contains(id) && seen.insert(id).inserted {
            let firstSeen = min(sightings[id] ?? listedAt, listedAt)
            let deleteAt = isExclusive ? firstSeen.adding(seconds: Self.unknownGrace) : nil
            if let deleteAt, deleteAt <= listedAt {
                decisions.append(.deleteUnknown(id, firstSeen: firstSeen))
            } else {
                decisions.append(.watch(id, firstSeen: firstSeen, deleteAt: deleteAt))
            }
        }
        let forgotten = sightings.keys.filter { !listed.contains($0) || ours.contains($0) }
        decisions += forgotten.sorted { $0.rawValue < $1.rawValue }.map { .forget($0) }
        self.listed = listed.count
        self.known = known
        self.unused = unused
        self.decisions = decisions
    }

    private static func decision(
        _ record: Record,
        isListed: Bool,
        running: Set<ActivityID>,
        settled: Instant
    ) -> [Decision] {
        switch (record.state, isListed) {
        case (.deleting, false):
            return [.settle(record)]
        case (.ready, false) where record.since <= settled:
            if record.isDone { return [.settle(record)] }
            return [.lose(record, replace: record.activity.map(running.contains) ?? false)]
        case (.deleted, true) where record.since <= settled, (.lost, true) where record.since <= settled:
            return [.deleteAgain(record)]
        case (.creating, _), (.ready, _), (.deleting, true), (.deleted, _), (.lost, _):
            return []
        }
    }
}

extension Instant {
    /// This time plus some seconds.
    func adding(seconds: Int64) -> Instant { Instant(microseconds: microseconds + seconds * 1_000_000) }
}
