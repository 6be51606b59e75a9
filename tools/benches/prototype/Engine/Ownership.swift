/// Which partitions this daemon owns, and until when it may send for them.
///
/// Pure: the caller passes moments of its own clock. The database decides who owns what; this value remembers the
/// answers and says what to ask for next.
package struct Ownership: Sendable {
    /// A row of `partitions`, as read with the daemons that are alive.
    package struct Row: Sendable, Hashable {
        package let partition: Int16
        package let owner: Int64?
        package let epoch: Int64
        /// Whether the owner still has its row in `daemons`.
        package let isOwnerAlive: Bool

        package init(partition: Int16, owner: Int64?, epoch: Int64, isOwnerAlive: Bool) {
            self.partition = partition
            self.owner = owner
            self.epoch = epoch
            self.isOwnerAlive = isOwnerAlive
        }
    }

    /// What to ask of the database after a look at the table.
    package enum Action: Sendable, Hashable {
        case claim([Int16])
        case release([Int16])
    }

    /// How long a lease lasts after its renewal.
    package let lease: Duration
    /// How much earlier the daemon stops by its own clock.
    package let margin: Duration
    private var daemon: Int64
    private var epochs: [Int16: Int64] = [:]
    private var mayBeginUntil: ContinuousClock.Instant?

    package init(daemon: Int64, lease: Duration = .seconds(3), margin: Duration = .milliseconds(500)) {
        self.daemon = daemon
        self.lease = lease
        self.margin = margin
    }

    /// The owned partitions and their epochs. Write transactions name them.
    package var held: [Int16: Int64] { epochs }

    /// A renewal that was sent at this moment has succeeded. Time counts from the sending, because the database has
    /// counted from a later moment.
    package mutating func renewed(sentAt moment: ContinuousClock.Instant) {
        let end = moment + lease - margin
        mayBeginUntil = max(mayBeginUntil ?? end, end)
    }

    /// Another daemon has declared this one dead. It owns nothing and continues under a new number.
    package mutating func declaredDead(continuingAs daemon: Int64) {
        self = Ownership(daemon: daemon, lease: lease, margin: margin)
    }

    /// The database has given these partitions to this daemon.
    package mutating func claimed(_ partitions: [Int16: Int64]) {
        epochs.merge(partitions) { $1 }
    }

    /// A write found that these partitions are no longer owned, or they are about to be released.
    package mutating func lost(_ partitions: some Sequence<Int16>) {
        for partition in partitions { epochs[partition] = nil }
    }

    /// Looks at the whole table and decides how to reach a fair share.
    package mutating func saw(_ table: [Row], daemons: Int) -> [Action] {
        for row in table where epochs[row.partition] != nil {
            if row.owner != daemon || row.epoch != epochs[row.partition] { epochs[row.partition] = nil }
        }
        let share = (table.count + daemons - 1) / max(daemons, 1)
        guard epochs.count <= share else {
            let surplus = Array(epochs.keys.sorted().suffix(epochs.count - share))
            return [.release(surplus)]
        }
        let free = table.filter { !$0.isOwnerAlive }.prefix(share - epochs.count).map(\.partition)
        return free.isEmpty ? [] : [.claim(Array(free))]
    }

    /// How long a push may still leave for this partition; `nil` if nothing may begin.
    package func remaining(_ partition: Int16, at now: ContinuousClock.Instant) -> Duration? {
        guard epochs[partition] != nil, let mayBeginUntil, now < mayBeginUntil else { return nil }
        return now.duration(to: mayBeginUntil)
    }
}
