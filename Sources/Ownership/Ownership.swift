/// Which partitions this daemon owns, and until when it may work for them.
///
/// It is pure: moments are the daemon's uptime, which only grows. The wall clock of no machine counts. A daemon lives
/// as long as the others see its count of renewals grow. After a lease without a renewal another daemon deletes its row,
/// and it can never renew again. The daemon itself stops a margin earlier.
///
/// - **Who calls it.** ``PartitionKeeper``, the service of the room. The room of webhooks asks which partitions are owned.
/// - **Tables that it alone writes.** `daemons`, `partitions` (``OwnershipStore``).
package struct Ownership: Sendable {
    /// Webhooks belong to so many partitions.
    package static let partitions: Int16 = 64

    /// A row of `partitions`. A partition without a row was never owned.
    package struct Row: Sendable, Hashable {
        package let partition: Int16
        package let owner: Int64?
        package let epoch: Int64

        package init(partition: Int16, owner: Int64?, epoch: Int64) {
            self.partition = partition
            self.owner = owner
            self.epoch = epoch
        }
    }

    /// What the tables hold at one moment.
    package struct Look: Sendable, Hashable {
        /// The count of renewals of each living daemon.
        package let renewals: [Int64: Int64]
        package let rows: [Row]

        package init(renewals: [Int64: Int64], rows: [Row]) {
            self.renewals = renewals
            self.rows = rows
        }
    }

    /// What to ask of the database after a look.
    package enum Action: Sendable, Hashable {
        /// Delete these daemons, if each still has the given count. Then look again.
        case bury([Int64: Int64])
        /// Take these partitions, if each still has the given epoch.
        case claim([Int16: Int64])
        case release([Int16])
    }

    private struct Sighting {
        let renewal: Int64
        let since: Duration
    }

    /// How long a daemon without a renewal lives.
    package let lease: Duration
    /// How much earlier it stops by its own clock.
    package let margin: Duration
    /// The number of this daemon; `nil` before it has entered.
    package private(set) var daemon: Int64?
    /// The owned partitions and their epochs. Write transactions of the owner name them.
    package private(set) var held: [Int16: Int64] = [:]
    private var mayBeginUntil: Duration?
    private var sightings: [Int64: Sighting] = [:]

    package init(lease: Duration = .seconds(3), margin: Duration = .milliseconds(500)) {
        self.lease = lease
        self.margin = margin
    }

    /// The daemon has a number, and owns nothing yet. `moment` is when the statement was sent.
    package mutating func entered(as daemon: Int64, sentAt moment: Duration) {
        self = Ownership(lease: lease, margin: margin)
        self.daemon = daemon
        renewed(sentAt: moment)
    }

    /// A renewal has succeeded. Its time counts from the sending: the others have seen it later.
    package mutating func renewed(sentAt moment: Duration) {
        let end = moment + lease - margin
        mayBeginUntil = max(mayBeginUntil ?? end, end)
    }

    /// Another daemon has deleted this one, or it has left.
    package mutating func ended() {
        self = Ownership(lease: lease, margin: margin)
    }

    /// The database has given these partitions to this daemon, under these epochs.
    package mutating func claimed(_ partitions: [Int16: Int64]) {
        held.merge(partitions) { $1 }
    }

    /// These partitions are about to be released.
    package mutating func lost(_ partitions: some Sequence<Int16>) {
        for partition in partitions { held[partition] = nil }
    }

    /// Compares a look with what was known, and decides how to reach a fair share.
    package mutating func saw(_ look: Look, at now: Duration) -> [Action] {
        for row in look.rows where held[row.partition] != nil {
            if row.owner != daemon || row.epoch != held[row.partition] { held[row.partition] = nil }
        }
        let silent = silentDaemons(look.renewals, at: now)
        guard silent.isEmpty else { return [.bury(silent)] }
        let (partitions, living) = (Int(Self.partitions), max(look.renewals.count, 1))
        let share = (partitions + living - 1) / living
        guard held.count <= share else { return [.release(held.keys.sorted().suffix(held.count - share))] }
        let rows = Dictionary(look.rows.map { ($0.partition, $0) }) { first, _ in first }
        let free = (0..<Self.partitions).filter { partition in
            guard held[partition] == nil, let owner = rows[partition]?.owner else { return held[partition] == nil }
            return look.renewals[owner] == nil || owner == daemon
        }
        let taken = free.prefix(share - held.count)
        guard !taken.isEmpty else { return [] }
        return [.claim(Dictionary(uniqueKeysWithValues: taken.map { ($0, rows[$0]?.epoch ?? 0) }))]
    }

    /// The other daemons whose count has stood still for a lease, with that count.
    private mutating func silentDaemons(_ renewals: [Int64: Int64], at now: Duration) -> [Int64: Int64] {
        sightings = sightings.filter { renewals[$0.key] == $0.value.renewal }
        for (other, renewal) in renewals where sightings[other] == nil {
            sightings[other] = Sighting(renewal: renewal, since: now)
        }
        return renewals.filter { other, _ in
            other != daemon && now - (sightings[other]?.since ?? now) >= lease
        }
    }

    /// How long work may still begin for this partition; `nil` if none may.
    package func remaining(_ partition: Int16, at now: Duration) -> Duration? {
        guard held[partition] != nil, let mayBeginUntil, now < mayBeginUntil else { return nil }
        return mayBeginUntil - now
    }
}
