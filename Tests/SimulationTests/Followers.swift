import APITypes
import ActivityModel
import JSON
import Postgres
import Registry
import TestSupport

@testable import Orchestrator

/// Who follows which topics, in lives that have some. A match for topics is for their followers and for nobody else.
extension Universe {
    /// A time in which a phone does not belong to an audience, as ``Apple/State/uptime``.
    struct Absence: Sendable {
        let since: Int64
        /// Nil: it is still away.
        var until: Int64?
    }

    private static let premium = Topic(stored: "premium")
    private static let muted = Topic(stored: "muted")
    private static let teams = [Topic(stored: "ajax"), Topic(stored: "psv")]
    private static let topics = teams + [premium, muted]

    /// Whose phone it is: two have the same user, and every fifth has none.
    static func user(of device: String) -> UserID? {
        guard let number = Int(device.dropFirst("phone".count)), !number.isMultiple(of: 5) else { return nil }
        return UserID(stored: "user\((number + 1) / 2)")
    }

    /// The followers of one team or both, in some matches narrowed.
    func topicAudience() -> Audience {
        let teams = Self.teams.filter { _ in chance(60) }
        return Audience(
            topics: teams.isEmpty ? [Self.teams[0]] : teams,
            topicsAll: chance(30) ? [Self.premium] : [],
            exceptTopics: chance(40) ? [Self.muted] : []
        )
    }

    /// A user or a device follows other topics from now on.
    func follow() async throws {
        guard let device = apple.with({ $0.phones.map(\.id) }).randomElement(using: &random) else { return }
        let name = chance(50) ? Self.user(of: device)?.rawValue ?? device : device
        let chosen = Self.topics.filter { _ in chance(40) }
        guard chance(50) else { return try await setTopics(of: name, .whole(chosen), to: Set(chosen)) }
        let removed = Self.topics.filter { _ in chance(40) }
        let result = follows[name, default: []].subtracting(removed).union(chosen)
        try await setTopics(of: name, .change(add: chosen, remove: removed), to: result)
    }

    /// The backend repeats a change until it is answered: it may have been carried out in part.
    private func setTopics(of name: String, _ request: TopicsRequest, to topics: Set<Topic>) async throws {
        let follower: UserOrDevice =
            name.hasPrefix("user") ? .user(UserID(stored: name)) : .device(DeviceID(stored: name))
        var after = follows
        after[name] = topics
        // Starts may leave before the answer.
        endAbsences(of: after)
        note("\(name) follows \(topics.map(\.rawValue).sorted())")
        var isAnswered = false
        while !isAnswered {
            do {
                let answer = try await anyDaemon().orchestrator.putTopics(Self.app, of: follower, request)
                guard Set(answer.topics) == topics else {
                    throw BrokenPromise(1, "\(name) follows \(answer.topics) and not \(topics)")
                }
                follows = after
                isAnswered = true
            } catch is PostgresError {
                try await replaceTheDead()
            } catch let problem as Problem {
                // The device has not registered yet.
                note("it is refused: \(problem.code)")
                isAnswered = true
            }
        }
        beginAbsences(at: apple.with { $0.uptime })
    }

    // MARK: Who belongs to an audience

    /// Takes the user of each phone for known. Before a phone has registered, Tally can start nothing on it anyway.
    private func isReached(_ device: String, by audience: Audience, _ follows: [String: Set<Topic>]) -> Bool {
        audience.reaches(device, of: Self.user(of: device)?.rawValue, follows)
    }

    /// Takes note of all phones that do not belong to an audience with topics, and of which that is not noted.
    func beginAbsences(at uptime: Int64) {
        for (match, device, audience) in pairs where !isReached(device, by: audience, follows) {
            let known = absences["\(match) \(device)", default: []]
            if known.last.map({ $0.until != nil }) ?? true {
                absences["\(match) \(device)", default: []].append(Absence(since: uptime))
            }
        }
    }

    private func endAbsences(of after: [String: Set<Topic>]) {
        let uptime = apple.with { $0.uptime }
        for (match, device, audience) in pairs where isReached(device, by: audience, after) {
            guard var known = absences["\(match) \(device)"], let last = known.indices.last, known[last].until == nil
            else { continue }
            known[last].until = uptime
            absences["\(match) \(device)"] = known
        }
    }

    /// All phones with all audiences that have topics.
    private var pairs: [(match: String, device: String, audience: Audience)] {
        let devices = apple.with { $0.phones.map(\.id) }
        var pairs: [(match: String, device: String, audience: Audience)] = []
        for match in matches {
            guard let audience = match.audience else { continue }
            for device in devices { pairs.append((match: match.id, device: device, audience: audience)) }
        }
        return pairs
    }

    // MARK: Promises

    /// A standing rule: no turn starts a phone that did not belong to the audience when the turn began.
    func checkAbsences() throws {
        let (phones, sent) = apple.with { ($0.phones, $0.sent.filter { $0.push.event == "start" }) }
        for phone in phones {
            for start in sent where phone.startTokens.contains(start.destination) {
                guard let match = start.push.content?.match else { continue }
                for absence in absences["\(match) \(phone.id)", default: []] {
                    guard start.turn.uptime <= absence.since || start.uptime >= absence.until ?? .max else {
                        throw BrokenPromise(6, "\(phone.id) was started for \(match), whose topics it does not follow")
                    }
                }
            }
        }
    }

    /// A standing rule: whoever belongs to the audience in the end, and can be started, was started, is put off for a
    /// reason, or has a card.
    func checkFollowers() async throws {
        guard hasTopics else { return }
        try await checkFollows()
        let live = try await liveMatches()
        let reachable = try await reachablePhones()
        let cards = Set(try await tables.cards().map { "\($0.activity) \($0.device)" })
        var states: [String: String] = [:]
        for start in try await tables.starts() { states["\(start.activity) \(start.device)"] = start.state }
        for (match, device, audience) in pairs
        where live.contains(match) && reachable.contains(device) && isReached(device, by: audience, follows) {
            if cards.contains("\(match) \(device)") { continue }
            let state = states["\(match) \(device)"] ?? "missing"
            guard !["missing", "cancelled"].contains(state) else {
                throw BrokenPromise(2, "\(device) follows \(match), and its start is \(state)")
            }
        }
    }

    /// Promise 1: what was answered is stored.
    private func checkFollows() async throws {
        let rows = try await clock.database.query(
            """
            SELECT coalesce(f.user_id, d.device_id), f.topic
            FROM topic_follows AS f LEFT JOIN devices AS d USING (device_key)
            """
        )
        var stored: [String: Set<Topic>] = [:]
        for (name, topic) in try rows.decoded(as: (String, String).self) {
            stored[name, default: []].insert(Topic(stored: topic))
        }
        let expected = follows.filter { !$0.value.isEmpty }
        guard stored == expected else { throw BrokenPromise(1, "\(expected) is followed, and \(stored) is stored") }
    }

    private func liveMatches() async throws -> Set<String> {
        let rows = try await clock.database.query("SELECT activity_id FROM activities WHERE state = 'live'")
        return Set(try rows.decoded(as: String.self))
    }

    /// The user of each phone whose user Tally knows. An app that has started a card itself reports it, and may never have
    /// registered: then the topics of its user are none of the phone's.
    private func knownUsers() async throws -> [String: String] {
        let rows = try await clock.database.query("SELECT device_id, user_id FROM devices WHERE user_id IS NOT NULL")
        return Dictionary(uniqueKeysWithValues: try rows.decoded(as: (String, String).self).map { ($0, $1) })
    }

    /// The phones that have a start token.
    private func reachablePhones() async throws -> Set<String> {
        let rows = try await clock.database.query(
            "SELECT d.device_id FROM start_tokens AS t JOIN devices AS d USING (device_key) WHERE t.state = 'live'"
        )
        return Set(try rows.decoded(as: String.self))
    }

    /// By the policy `end`, a card ends where its device leaves the audience by its topics, and nowhere else. The last
    /// scene of a life: the policy was `keep` before, so all cards were there.
    func checkUnfollow() async throws {
        guard hasTopics else { return }
        _ = try await anyDaemon().orchestrator.registry
            .patchType(Self.app, Self.game, TypePatch(policy: ["on_unfollow": "end"]))
        let before = follows
        let users = try await knownUsers()
        let stood = try await liveMatches()
        // A card that listens to a channel cannot be ended alone.
        let cards = try await tables.cards().filter { $0.mode == "token" && ["riding", "due"].contains($0.state) }
        let shown = Set(apple.with { $0.phones.flatMap(\.cards).filter(\.isShown).compactMap(\.updateToken) })
        for name in before.keys.sorted() where chance(60) { try await setTopics(of: name, .whole([]), to: []) }
        try await passMinute()
        let live = try await liveMatches().intersection(stood)
        let ended = Set(
            apple.with { $0.phones.flatMap(\.cards).filter { !$0.isShown }.compactMap(\.updateToken) }
        )
        var left: Set<String> = []
        for (match, device, audience) in pairs where live.contains(match) {
            let card = cards.first { $0.activity == match && $0.device == device }
            guard let token = card?.token, shown.contains(token) else { continue }
            let was = audience.reaches(device, of: users[device], before)
            let isNow = audience.reaches(device, of: users[device], follows)
            if isNow, ended.contains(token) {
                throw BrokenPromise(2, "\(device) follows \(match), and its card was ended")
            }
            guard was, !isNow else { continue }
            guard ended.contains(token) else {
                throw BrokenPromise(2, "\(device) does not follow \(match) any more, and still shows it")
            }
            left.insert("\(match) \(device)")
        }
        unfollowed += left.count
        for name in before.keys.sorted() {
            let topics = before[name, default: []]
            if follows[name] != topics { try await setTopics(of: name, .whole(topics.sorted()), to: topics) }
        }
        try await passMinute()
        try await checkReturn(of: left)
    }

    /// Whoever follows again was started again, is put off for a reason, or has a card.
    private func checkReturn(of left: Set<String>) async throws {
        let live = try await liveMatches()
        let reachable = try await reachablePhones()
        let cards = Set(try await tables.cards().map { "\($0.activity) \($0.device)" })
        var states: [String: String] = [:]
        for start in try await tables.starts() { states["\(start.activity) \(start.device)"] = start.state }
        for (match, device, _) in pairs where live.contains(match) && reachable.contains(device) {
            let name = "\(match) \(device)"
            guard left.contains(name), !cards.contains(name) else { continue }
            let state = states[name] ?? "missing"
            guard !["missing", "cancelled", "settled"].contains(state) else {
                throw BrokenPromise(2, "\(device) follows \(match) again, and its start is \(state)")
            }
        }
    }

    private func passMinute() async throws {
        for _ in 0..<3 {
            try await settle()
            try await pass(milliseconds: 20_000)
        }
        try await settle()
    }
}

extension Audience {
    /// Whether a phone belongs to an audience of topics. `user`: whose phone it is.
    fileprivate func reaches(_ device: String, of user: String?, _ follows: [String: Set<Topic>]) -> Bool {
        var own = follows[device, default: []]
        if let user { own.formUnion(follows[user, default: []]) }
        return !own.isDisjoint(with: topics) && own.isSuperset(of: topicsAll) && own.isDisjoint(with: exceptTopics)
    }
}
