import APITypes
import ActivityModel
import JSON
import Postgres
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// More comes than can be accepted: the least urgent is refused, nothing that was accepted is lost, and it is over at
/// once.
@Suite("Overload", .timeLimit(.minutes(4)))
struct OverloadTests {
    @Test("Under pressure routine changes stay outside, then alerts, then ends; starts come in, and what is in arrives")
    func sheds() async throws {
        var options = TallySystem.Options()
        options.environment = ["TALLY_INTAKE_LIMIT": "100"]
        try await TallySystem.with(options) { system in
            let producers = Producers(system: system)
            try await producers.kickOff()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await system.database.withTransaction { connection in
                    // While this is held nothing can be accepted: the machine is as slow as it can be.
                    // The database would end a session that is idle in a transaction for long.
                    _ = try await connection.query("SET LOCAL idle_in_transaction_session_timeout = 0")
                    _ = try await connection.query("LOCK TABLE changes IN SHARE MODE")
                    for kind in [Producers.Kind.routine, .alert, .end] {
                        for _ in 1...4 { tasks.addTask { try await producers.post(kind, times: 5) } }
                        // One by one, until it is full for these: one that is taken waits for its answer.
                        try await eventually("the intake is full for \(kind)") {
                            tasks.addTask {
                                try await producers.post(kind, matches: Array(producers.matches(of: kind).prefix(1)))
                            }
                            await pause(.milliseconds(100))
                            return producers.hasRefused(kind)
                        }
                    }
                    tasks.addTask { try await producers.start("late") }
                }
                try await tasks.waitForAll()
            }
            for kind in [Producers.Kind.routine, .alert, .end] {
                let refused = producers.answers(to: kind).filter { $0.status != 202 }
                // Each kind came in while the one before it was refused already.
                let taken = producers.answers(to: kind).count { $0.status == 202 }
                #expect(taken >= (kind == .end ? Producers.ending.count : 25), "\(kind)")
                let other = refused.filter { $0.status != 429 || $0.code != "too_many_requests" }
                #expect(other.isEmpty, "\(kind)")
            }
            // It is over, and so are the refusals.
            try await producers.post(.routine, matches: Producers.live)
            let after = producers.answers(to: .routine).suffix(Producers.live.count)
            #expect(after.allSatisfy { $0.status == 202 })
            let kept = try await system.database.query("SELECT count(*) FROM changes WHERE revision > 1")
                .first(as: Int64.self)
            #expect(kept == Int64(producers.takenCount))
            try await producers.expectArrival()
        }
    }
}

/// Those who post to matches, some of which phones follow.
private final class Producers: Sendable {
    enum Kind: Sendable {
        case routine, alert, end
    }

    struct Answer: Sendable {
        let status: Int64
        let code: String?
        /// The change that the answer is about. A second end is answered like the first.
        let change: Change
    }

    struct Change: Sendable, Hashable {
        let match: String?
        let revision: Int64?
    }

    /// Three matches come to their end under pressure.
    static let live = (1...37).map { "match-\($0)" }
    static let ending = (38...40).map { "match-\($0)" }
    private static let followed = ["match-1", "match-9"]
    private static let phones = (1...4).map { "fan-\($0)" }
    private static let path = "/v1/apps/\(TallySystem.app)"

    private struct State {
        var minute: Int64 = 0
        var answers: [Kind: [Answer]] = [:]
    }

    private let system: TallySystem
    private let state = Mutex(State())

    init(system: TallySystem) { self.system = system }

    func answers(to kind: Kind) -> [Answer] { state.withLock { $0.answers[kind] ?? [] } }

    func hasRefused(_ kind: Kind) -> Bool { answers(to: kind).contains { $0.status == 429 } }

    /// How many changes were answered with 202.
    var takenCount: Int {
        state.withLock { Set($0.answers.values.joined().filter { $0.status == 202 }.map(\.change)).count }
    }

    func matches(of kind: Kind) -> [String] { kind == .end ? Self.ending : Self.live }

    func kickOff() async throws {
        try await system.simulator.makePhones("fan-", count: Self.phones.count, of: TallySystem.app)
        try await system.simulator.finishReports()
        for match in Self.live + Self.ending {
            let start = HonestyWorld.start(devices: Self.followed.contains(match) ? Self.phones : [])
            try await system.api().call("PUT", "\(Self.path)/activities/\(match)", start)
        }
        for match in Self.followed {
            try await eventually("the phones show \(match)") {
                try await system.activity(knownGood(ActivityID(match))).progress.current == Self.phones.count
            }
        }
    }

    func start(_ match: String) async throws {
        try await system.api().call("PUT", "\(Self.path)/activities/\(match)", HonestyWorld.start())
    }

    /// Posts a change of a kind to every match, so many times over, in one request.
    func post(_ kind: Kind, matches: [String]? = nil, times: Int = 1) async throws {
        let matches = matches ?? self.matches(of: kind)
        let operations = (0..<times).flatMap { _ in matches.map { operation(kind, $0) } }
        let body: JSONValue = ["operations": .array(operations)]
        let answer = try await system.api().call("POST", Self.path + "/batch", body)
        let results = (answer["results"]?.array ?? []).map {
            Answer(
                status: $0["status"]?.int64 ?? 0,
                code: $0["body"]?["code"]?.string,
                change: Change(
                    match: $0["body"]?["activity_id"]?.string,
                    revision: $0["body"]?["revision"]?.int64
                )
            )
        }
        state.withLock { $0.answers[kind, default: []] += results }
    }

    private func operation(_ kind: Kind, _ match: String) -> JSONValue {
        let minute = state.withLock { state in
            state.minute += 1
            return state.minute
        }
        var body: JSONObject = kind == .end ? [:] : ["content_state": HonestyWorld.content(minute: Int(minute))]
        if kind == .alert { body["alert"] = HonestyWorld.alert }
        return ["op": .string(kind == .end ? "end" : "update"), "id": .string(match), "body": .object(body)]
    }

    /// The phones show what was posted last, and the ended matches have ended.
    func expectArrival() async throws {
        for match in Self.followed {
            let newest = try await system.activity(knownGood(ActivityID(match))).contentState
            try await eventually("the phones show the last state of \(match)") {
                try await system.simulator.phones("fan-").allSatisfy { $0.contentState(of: match) == .object(newest) }
            }
        }
        for match in Self.ending {
            #expect(try await system.activity(knownGood(ActivityID(match))).state == .ended)
        }
    }
}
