package import ActivityModel
package import APNSTransport
package import Logging
package import Delivery
import Postgres
import Synchronization

/// The sending half as the proposal draws it: accept, log, owner, pass, push, record.
///
/// Everything that a daemon knows is in one ``Memory`` behind a lock that is never held across a wait. The drivers in
/// the extensions take decisions out of it, do the I/O, and report back.
package final class Engine: Sendable {
    /// The same for all pushes here. The real engine takes it from the app.
    package struct Common: Sendable {
        package var identity: SigningIdentity
        package var bundleID: BundleID
        package var expiration: Int64

        package init(identity: SigningIdentity, bundleID: BundleID, expiration: Int64) {
            self.identity = identity
            self.bundleID = bundleID
            self.expiration = expiration
        }
    }

    package struct Settings: Sendable {
        package var groupSize = 512
        package var groups = 3
        package var recordInterval = Duration.milliseconds(100)
        package var lookInterval = Duration.seconds(1)
        package var pollInterval = Duration.milliseconds(200)
        package var slice = 128
        package var page = 2_560
        package var window = 10_240
        package var lease = Duration.seconds(3)

        package init() {}
    }

    let store: Store
    let sender: any PushSender
    let common: Common
    let settings: Settings
    let logger: Logger
    let memory: Mutex<Memory>
    /// Wakes the reader of the log before its time.
    let nudges: AsyncStream<Void>
    let nudge: AsyncStream<Void>.Continuation

    package init(
        _ store: Store,
        sender: any PushSender,
        common: Common,
        settings: Settings = Settings(),
        logger: Logger
    ) {
        self.store = store
        self.sender = sender
        self.common = common
        self.settings = settings
        self.logger = logger
        memory = Mutex(Memory())
        (nudges, nudge) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The partitions that this daemon owns.
    package var ownedPartitions: Int { memory.withLock { $0.ownership.held.count } }

    /// Serves until the task is cancelled, then hands its partitions over.
    package func run() async throws {
        let daemon = try await store.enter(lease: settings.lease)
        memory.withLock { $0.enter(daemon, lease: settings.lease) }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.keepOwning() }
            tasks.addTask { await self.readTail() }
            tasks.addTask { await self.listen() }
            tasks.addTask { await self.keepRecording() }
        }
        await Task { await handOver() }.value
    }

    private func handOver() async {
        // The next owner finds the rest in the log.
        do { try await record() } catch { logger.warning("the last records are missing: \(error)") }
        let daemon = memory.withLock { memory in
            defer { memory.ownership.lost(Array(memory.ownership.held.keys)) }
            return memory.daemon
        }
        do { try await store.leave(daemon) } catch { logger.warning("not handed over: \(error)") }
    }
}

/// What one daemon knows.
struct Memory {
    /// An activity and what waits for it.
    struct Entry {
        var state: ActivityState
        let id: String
        let type: Int32
        /// The generation of the type that changes are judged by.
        var generation: Int32
        /// The mark from which the log holds its unrecorded changes.
        var since: UInt64?
        var isDirty = false
        var dead: [Int64] = []
    }

    var daemon: Int64 = 0
    var ownership = Ownership(daemon: 0)
    var tail = LogTail(from: 0)
    var keys: [String: Int64] = [:]
    var entries: [Int64: Entry] = [:]
    var dirty: [Int64] = []
    /// How many activities have unrecorded changes since each mark.
    var unrecordedSince: [UInt64: Int] = [:]
    var intake = Intake()
    /// Whether others must be told of the log.
    var hasNews = false

    mutating func enter(_ daemon: Int64, lease: Duration) {
        self.daemon = daemon
        ownership = Ownership(daemon: daemon, lease: lease)
    }

    /// Takes over what was read. An activity that is known only learns from it.
    mutating func add(_ loaded: Store.Loaded) {
        let key = loaded.state.key
        guard entries[key] == nil else {
            entries[key]?.generation = loaded.generation
            entries[key]?.state.refreshed(loaded.newest)
            return
        }
        keys[loaded.id] = key
        entries[key] = Entry(state: loaded.state, id: loaded.id, type: loaded.type, generation: loaded.generation)
    }

    /// Forgets an activity. The next change reads it again.
    mutating func forget(_ key: Int64) {
        letGo(key)
        if let entry = entries.removeValue(forKey: key) { keys[entry.id] = nil }
    }

    /// Notes that an activity has something to record.
    mutating func touch(_ key: Int64) {
        guard var entry = entries[key], !entry.isDirty else { return }
        entry.isDirty = true
        entries[key] = entry
        dirty.append(key)
    }

    /// Notes that the log holds a change from this mark on that is not recorded.
    mutating func holdBack(_ key: Int64, since mark: UInt64) {
        guard entries[key]?.since == nil else { return }
        entries[key]?.since = mark
        unrecordedSince[mark, default: 0] += 1
    }

    /// The change was recorded, and no newer one is waiting.
    mutating func letGo(_ key: Int64) {
        guard let mark = entries[key]?.since else { return }
        entries[key]?.since = nil
        uncount(mark)
    }

    /// One reason less to read the log from this mark on.
    mutating func uncount(_ mark: UInt64) {
        guard let count = unrecordedSince[mark] else { return }
        unrecordedSince[mark] = count > 1 ? count - 1 : nil
    }

    /// Others record the activities that are no longer owned.
    mutating func letGoOfOthers() {
        for (key, entry) in entries where ownership.held[entry.state.partition] == nil { letGo(key) }
    }
}
