import APITypes
import ActivityModel
import JSON
import Synchronization
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// The one system that all honesty tests share: activities in every state, and a phone that sees whatever is sent.
final class HonestyWorld: Sendable {
    /// Set while the suite runs.
    @TaskLocal static var current: HonestyWorld?

    static let phone = "listener-1"
    /// Live, shown by the phone.
    static let running = "running"
    /// Over.
    static let ended = "ended"
    static let alert: JSONValue = ["title": "Ajax – PSV", "body": "Kick-off"]
    static let attributes: JSONValue = ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"]

    let system: TallySystem
    /// Keys by what they are for.
    let keys: [Caller: String]
    /// What the tests have posted as it should be; none of it has a minute below 1,000, and no refused content one
    /// above.
    private let posted = Mutex<[JSONValue]>([])

    /// Who calls.
    enum Caller: Sendable, Hashable {
        case admin
        case reader
        case publisher
        case operatorKey
        case phone
        /// Bound to another app.
        case otherApp
        case revoked
        case unknown
        case nobody
    }

    init(_ system: TallySystem) async throws {
        self.system = system
        let client = try system.client()
        let other = knownGood(BundleID("com.example.other"))
        _ = try await client.putApp(
            other,
            AppRequest(
                teamID: knownGood(TeamID("ABCDE12345")),
                environments: [.sandbox: try TallySystem.signingKey()]
            )
        )
        var keys: [Caller: String] = [.admin: TallySystem.adminKey, .unknown: "tally_this_key_was_never_made"]
        for (caller, scopes) in [
            (Caller.reader, [Scope.read]), (.publisher, [.publish]), (.operatorKey, [.operate]), (.phone, [.register]),
        ] {
            keys[caller] = try await client.createKey(APIKeyRequest(name: "\(caller)", scopes: scopes)).secret
        }
        let bound = APIKeyRequest(name: "bound", scopes: [.operate, .publish, .register], bundleID: other)
        keys[.otherApp] = try await client.createKey(bound).secret
        let revoked = try await client.createKey(APIKeyRequest(name: "revoked", scopes: [.admin]))
        keys[.revoked] = revoked.secret
        try await client.revokeKey(revoked.id)
        self.keys = keys

        let running = knownGood(ActivityID(Self.running))
        try await system.simulator.makePhones("listener-", of: TallySystem.app, follows: running)
        try await system.simulator.finishReports()
        let api = system.api()
        for id in [Self.running, Self.ended] {
            try await api.call(
                "PUT",
                "\(Self.path)/activities/\(id)",
                Self.start(devices: id == Self.running ? [Self.phone] : [])
            )
        }
        try await api.call("POST", "\(Self.path)/activities/\(Self.ended)/end", [:])
        try await eventually("the phone shows the running activity") {
            guard try await system.simulator.phone(Self.phone).state(of: Self.running) != nil else { return false }
            let activity = try await system.activity(running)
            return activity.progress.current == 1 && activity.starts.confirmed == 1
        }
        try await system.simulator.finishReports()
    }

    /// `/v1/apps/…` of the app.
    static let path = "/v1/apps/\(TallySystem.app)"

    /// A valid start.
    static func start(devices: [String] = []) -> JSONValue {
        var body: JSONObject = [
            "type": "GameAttributes", "attributes": attributes, "content_state": content(minute: 0), "alert": alert,
        ]
        if !devices.isEmpty { body["audience"] = ["devices": .array(devices.map { .string($0) })] }
        return .object(body)
    }

    /// A valid content-state.
    static func content(minute: Int) -> JSONValue {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": "firstHalf"]
    }

    /// A content-state that was not posted before, and may be.
    func newContent() -> JSONValue {
        posted.withLock { posted in
            let content = Self.content(minute: 1_000 + posted.count)
            posted.append(content)
            return content
        }
    }

    /// An id that no activity has.
    func newID() -> String { "own-\(newContent()["minute"]?.int64 ?? 0)" }

    /// An activity of its own, without phones.
    func newActivity(_ start: JSONValue = start()) async throws -> String {
        let id = newID()
        try await api().call("PUT", "\(Self.path)/activities/\(id)", start)
        return id
    }

    func api(_ caller: Caller = .admin) -> HTTPCaller { system.api(key: keys[caller]) }

    /// Posts a new state of the running activity, and waits until the phone shows it.
    func postAndWait() async throws {
        let content = newContent()
        try await api().call("POST", "\(Self.path)/activities/\(Self.running)/updates", ["content_state": content])
        try await eventually("the phone shows the newest state") {
            try await system.simulator.phone(Self.phone).contentState(of: Self.running) == content
        }
    }

    /// Runs `body`, which sends nothing.
    ///
    /// With a fence, something is posted afterwards and waited for: the pushes of an activity come in the order of its
    /// changes, so whatever `body` had sent would have arrived before. That takes a second.
    func expectNoPush(fenced: Bool = false, during body: () async throws -> Void) async throws {
        let before = try await system.simulator.traffic()
        let received = try await system.simulator.phone(Self.phone).receivedCount
        try await body()
        #expect(try await system.simulator.traffic() == before)
        guard fenced else { return }
        try await postAndWait()
        #expect(try await system.simulator.phone(Self.phone).receivedCount == received + 1)
    }

    /// The fence behind all tests: the phone was started once, and has received nothing that was refused.
    func expectNothingRefused() async throws {
        try await postAndWait()
        let pushes = try await system.simulator.phone(Self.phone).pushes
        #expect(pushes.filter { $0["event"]?.string == "start" }.count == 1)
        let updates = pushes.filter { $0["event"]?.string != "start" }
        #expect(!updates.isEmpty)
        let posted = posted.withLock { $0 }
        for push in updates {
            #expect(push["event"]?.string == "update")
            #expect(posted.contains { $0 == push["content_state"] }, "\(push.text)")
        }
        let phones = try await system.simulator.phones()
        #expect(phones.map(\.id) == [Self.phone])
    }
}

/// Runs the tests of a suite in one ``HonestyWorld``.
struct HonestyWorldTrait: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await TallySystem.with { system in
            let world = try await HonestyWorld(system)
            try await HonestyWorld.$current.withValue(world) { try await function() }
            try await world.expectNothingRefused()
        }
    }
}

extension Trait where Self == HonestyWorldTrait {
    static var honestyWorld: Self { Self() }
}
