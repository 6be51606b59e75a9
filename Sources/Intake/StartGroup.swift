import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Record
import Registry
import Store

/// One transaction of starts: lock, read, decide, write. Each start is judged on its own; one that is refused changes
/// nothing and does not disturb the others.
struct StartGroup {
    typealias Answer = Result<Stored, any Error>

    /// The status that marks a kept replay, unlike a kept start.
    static let replayStatus: Int16 = 200

    /// The outcome of one start. It holds when the transaction is committed.
    struct Stored: Sendable {
        let answer: CountedAnswer<StartAnswer>
        /// The activity, if the start has made it.
        var activity: NewActivity?
    }

    private let starts: [StartCommand]
    private var kept: KeptAnswers<StartAnswer>
    /// In the order of the starts; nil for one that is left to the next transaction, or not answered yet.
    private(set) var answers: [Answer?]
    /// The starts of stored activities that have come again.
    private var replays: [(place: Int, activityKey: Int64)] = []
    /// The new activities, in the order of their names.
    private(set) var activities: [NewActivity] = []
    /// The channels that this daemon has leased, to have Apple make them.
    private var leased: [LeasedSegment] = []
    /// Whether other segments are due.
    private var hasMore = false

    // MARK: All of it

    /// Stores starts in one transaction. Some take another one, each alone: those whose id or key another start has taken
    /// at the same moment, which now find what that one has stored.
    ///
    /// - `isPatient`: whether they wait for apps that somebody else has locked.
    /// - Returns: One result per start, in their order: ``OutdatedType`` for starts that must be judged again,
    ///   ``StillLocked`` for those that would have to wait.
    /// - Throws: Errors of the database. Nothing is stored then.
    static func accept(
        _ starts: [StartCommand],
        in database: Database,
        for segments: SegmentStore,
        waking wakeUps: WakeUps,
        isPatient: Bool
    ) async throws -> [Answer] {
        var answers = try await keepingAnswer {
            try await store(starts, in: database, for: segments, wakeUps, isPatient: isPatient)
        }
        for place in answers.indices {
            while answers[place] == nil {
                do {
                    let start = [starts[place]]
                    answers[place] = try await keepingAnswer {
                        try await store(start, in: database, for: segments, wakeUps, isPatient: isPatient)[0]
                    }
                } catch let error where starts.count > 1 {
                    // The others are stored.
                    answers[place] = .failure(error)
                }
            }
        }
        return answers.compactMap { $0 }
    }

    /// One transaction. Its channels are handed over after the commit.
    private static func store(
        _ starts: [StartCommand],
        in database: Database,
        for segments: SegmentStore,
        _ wakeUps: WakeUps,
        isPatient: Bool
    ) async throws -> [Answer?] {
        let room = wakeUps.reserve(starts.count(where: { $0.start.request.delivery.usesChannel }))
        defer { wakeUps.giveBack(room) }
        let group = try await database.withTransaction { connection in
            var group = try await judge(starts, isPatient: isPatient, on: connection)
            try await group.write(leasing: room, for: segments, on: connection)
            return group
        }
        wakeUps.handOver(group.leased)
        if group.hasMore { wakeUps.signal() }
        return group.answers
    }

    // MARK: Judging

    /// Locks, reads, decides, and inserts the activities of accepted starts.
    static func judge(
        _ starts: [StartCommand],
        isPatient: Bool,
        on connection: PostgresConnection
    ) async throws -> StartGroup {
        let keys = starts.compactMap(\.start.idempotencyKey)
        let selection = StartDesk.selection(starts, isPatient: isPatient)
        let reading = keys.isEmpty ? [] : [KeptAnswers<StartAnswer>.selection(keys)]
        let rows = try await connection.pipeline([.planningOnce] + selection + reading)
        var group = StartGroup(starts, kept: try KeptAnswers(keys.isEmpty ? nil : rows.last))
        let accepted = group.decide(by: try StartDesk(Array(rows[1...selection.count])), isPatient: isPatient)
        if !accepted.isEmpty {
            let inserted = try await connection.query(NewActivityRows.insertion(accepted))
            group.activities = try NewActivityRows.inserted(accepted, inserted)
        }
        return group
    }

    private init(_ starts: [StartCommand], kept: KeptAnswers<StartAnswer>) {
        self.starts = starts
        self.kept = kept
        answers = Array(repeating: nil, count: starts.count)
    }

    /// - Returns: The starts whose activities are to be inserted, in the order of their names.
    private mutating func decide(by desk: StartDesk, isPatient: Bool) -> [AcceptedStart] {
        var accepted: [AcceptedStart] = []
        var names: Set<ActivityFacts.Name> = []
        for (place, command) in starts.enumerated() {
            // Or there is no such app, which only who waits can tell.
            let isLocked = !isPatient && !desk.knows(command.start.app)
            do {
                if let key = command.start.idempotencyKey {
                    if let known = try kept.known(key) {
                        answers[place] = .success(Stored(answer: CountedAnswer(known, for: key)))
                        continue
                    }
                    if isLocked { throw StillLocked() }
                    guard kept.claim(key) else { continue }
                }
                if isLocked { throw StillLocked() }
                guard names.insert(command.start.name).inserted else { continue }
                switch try desk.judge(command) {
                case .replay(let activityKey): replays.append((place, activityKey))
                case .accepted(let proposal, let environment):
                    accepted.append(AcceptedStart(place: place, proposal: proposal, environment: environment))
                }
            } catch {
                answers[place] = .failure(error)
            }
        }
        replays.sort { $0.activityKey < $1.activityKey }
        return accepted.sorted {
            ($0.name.app.rawValue, $0.name.id.rawValue) < ($1.name.app.rawValue, $1.name.id.rawValue)
        }
    }

    // MARK: Writing

    /// Writes what belongs to the new activities, answers, and commits. Leases at most `limit` channels.
    private mutating func write(
        leasing limit: Int,
        for segments: SegmentStore,
        on connection: PostgresConnection
    ) async throws {
        let keys = activities.map(\.key) + replays.map(\.activityKey)
        guard !keys.isEmpty else { return }
        let channels = NewActivityRows.channelSegments(of: activities, leasing: limit, for: segments)
        let statements = NewActivityRows.parts(of: activities) + channels + [StartDraft.selection(keys)]
        let places = activities.map(\.place) + replays.map(\.place)
        let hasKeys = places.contains { starts[$0].start.idempotencyKey != nil }
        let looked = ContinuousClock.now
        let rows = try await hasKeys ? connection.pipeline(statements) : connection.commit(statements)
        let drafts = try rows.last.map { try StartDraft.read($0) } ?? [:]
        for activity in activities {
            let hasAudience = !activity.proposal.request.audience.isEmpty
            answer(activity.place, drafts[activity.key], uncounted: hasAudience ? activity.key : nil, activity)
        }
        for (place, activityKey) in replays { answer(place, drafts[activityKey], uncounted: activityKey, nil) }
        hasMore = activities.contains(where: \.hasStarts)
        if !channels.isEmpty { try takeLeases(rows[statements.count - 2], drafts, at: looked) }
        let keeping = kept.statements
        if !keeping.isEmpty { _ = try await connection.commit(keeping) }
    }

    /// Answers a start, and keeps the answer if the start has a key. `uncounted`: the activity whose audience is still to
    /// be counted. `activity`: what the start has made; nil for a replay.
    private mutating func answer(
        _ place: Int,
        _ draft: StartAnswer?,
        uncounted activityKey: Int64?,
        _ activity: NewActivity?
    ) {
        guard let draft else {
            // Deleted since it was read.
            answers[place] = .failure(Problem.notFound("the activity"))
            return
        }
        let status = activity == nil ? Self.replayStatus : 202
        let key = starts[place].start.idempotencyKey
        if let key { kept.keep(draft, for: key, status: status, uncounted: activityKey) }
        let known = KeptAnswers<StartAnswer>.Known(answer: draft, status: status, uncounted: activityKey)
        answers[place] = .success(Stored(answer: CountedAnswer(known, for: key), activity: activity))
    }

    /// Reads the rows of ``NewActivityRows/channelSegments(of:leasing:for:)``. `looked` is the time of the query.
    private mutating func takeLeases(
        _ rows: Rows,
        _ drafts: [Int64: StartAnswer],
        at looked: ContinuousClock.Instant
    ) throws {
        let byKey = Dictionary(activities.map { ($0.key, $0) }) { first, _ in first }
        for (key, owner, isDue) in try rows.decoded(as: (Int64, String?, Bool).self) {
            guard let owner, let activity = byKey[key], let channel = drafts[key]?.channel else {
                hasMore = hasMore || isDue
                continue
            }
            let lease = SegmentLease(activityKey: key, segment: SegmentRows.channelSegment, owner: owner)
            let wanted = ChannelToMake(
                lease: lease,
                wakes: 0,
                failures: 0,
                app: activity.proposal.start.app,
                environment: activity.environment,
                delivery: activity.proposal.request.delivery,
                id: channel.id,
                storage: activity.proposal.type.policy.channelStorage
            )
            let look = LeasedSegment.Look(small: .channel(wanted), at: looked)
            leased.append(LeasedSegment(lease: lease, look: look))
        }
    }
}

/// What a group of starts has locked and read, to judge them by.
private struct StartDesk {
    enum Verdict {
        /// The very start of this stored activity.
        case replay(Int64)
        case accepted(StartProposal, APNSEnvironment)
    }

    /// The environments for which each app has a key. An app that does not exist is missing.
    private var environments: [BundleID: [APNSEnvironment]] = [:]
    /// When the types were last changed.
    private let types: [RegistryCaches.TypeKey: PGTimestamp]
    private let stored: [ActivityFacts.Name: KeptStart]
    /// The database's time.
    private let now: PGTimestamp?

    /// The statements whose rows ``init(_:)`` reads.
    ///
    /// An app that is being deleted is left out, with its keys, so that starts of other apps do not wait for its lock. Who
    /// is patient waits for it. The apps and their keys cannot be deleted from now on. A deletion locks them in the same
    /// order, and deletes the keys first (``AppDeletion``). So no start is accepted while its app is being deleted.
    static func selection(_ starts: [StartCommand], isPatient: Bool) -> [Query] {
        let names = starts.map(\.start.name)
        let apps = Set(names.map(\.app)).sorted { $0.rawValue < $1.rawValue }
        return [
            AppRows.hold(apps, isPatient: isPatient),
            AppRows.holdKeys(of: apps, isPatient: isPatient),
            TypeVersionRows.hold(starts.compactMap { try? $0.proposal.get().type }),  // one that is refused needs none
            KeptStart.selection(names),
            DatabaseClock.selection,
        ]
    }

    init(_ rows: [Rows]) throws {
        for app in try rows[0].decoded(as: String.self) { environments[BundleID(stored: app)] = [] }
        for row in rows[1] {
            let key = try SigningKeyName(row)
            environments[key.app]?.append(key.environment)
        }
        types = try TypeVersionRows.updates(rows[2])
        stored = try KeptStart.read(rows[3])
        now = try rows[4].single(PGTimestamp.self)
    }

    /// Whether the app exists, as far as a group can see.
    func knows(_ app: BundleID) -> Bool { environments[app] != nil }

    /// Judges a start. A replay is judged by the stored start alone: what the type or its policy say now does not matter.
    ///
    /// - Throws: 404 for an unknown app; 409 or 422; ``OutdatedType``.
    func judge(_ command: StartCommand) throws -> Verdict {
        let start = command.start
        let environment = try Registry.environment(start.request.environment, among: environments[start.app])
        if let stored = stored[start.name] {
            try stored.judgeReplay(start.request)
            return .replay(stored.activityKey)
        }
        let proposal = try command.proposal.get()
        try proposal.type.check(types)
        // A key came or went since its app versions were read.
        if let judged = proposal.environment, judged != environment { throw proposal.type.outdated }
        if let endsAt = start.request.endsAt, let now, endsAt.stored <= now {
            throw Problem.invalidRequest(
                pointer: JSONPointer().appending("ends_at"),
                code: FieldError.outOfRange,
                message: "'ends_at' is in the past."
            )
        }
        return .accepted(proposal, environment)
    }
}
