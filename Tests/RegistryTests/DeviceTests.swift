import APITypes
import ActivityModel
import Cryptography
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Orchestrator

@Suite("Devices in the registry", .timeLimit(.minutes(2)))
struct DeviceTests {
    private let device = DeviceID(stored: "d1")
    private let game = ActivityTypeName(stored: "Game")
    private let order = ActivityTypeName(stored: "Order")

    private func token(_ digits: String) throws -> PushToken { try #require(PushToken(hex: digits)) }

    private func report(_ tokens: [ActivityTypeName: (String, Int64?)]) throws -> DeviceRequest {
        var request = DeviceRequest(environment: .production)
        request.startTokens = try tokens.mapValues { StartTokenRequest(token: try token($0.0), generation: $0.1) }
        return request
    }

    @Test("A report keeps what it leaves out")
    func merges() async throws {
        try await withRegistry { registry, app in
            var first = try report([game: ("aaaa0001", nil)])
            first.user = .user(UserID(stored: "u1"))
            first.osVersion = OSVersion("18.1")
            first.frequentPushesEnabled = true
            first.deviceToken = try token("dddd0001")
            let made = try await registry.intake.putDevice(app, device, first)
            #expect(made.activitiesEnabled)
            #expect(made.frequentPushesEnabled)
            #expect(made.deviceToken == "dddd…")
            let changed = try await registry.intake.putDevice(
                app,
                device,
                DeviceRequest(environment: .production, appVersion: AppVersion("2.0"))
            )
            #expect(changed.userID == UserID(stored: "u1"))
            #expect(changed.osVersion == OSVersion("18.1"))
            #expect(changed.appVersion == AppVersion("2.0"))
            #expect(changed.frequentPushesEnabled)
            #expect(changed.deviceToken == "dddd…")
            #expect(changed.startTokens[game]?.token == "aaaa…")
            #expect(changed.createdAt == made.createdAt)
            #expect(try await registry.device(app, device) == changed)
        }
    }

    @Test("A report that says that nobody is signed in takes the user from the device; one that does not say leaves it")
    func signOut() async throws {
        try await withRegistry { registry, app in
            var request = DeviceRequest(environment: .production, user: .user(UserID(stored: "u1")))
            _ = try await registry.intake.putDevice(app, device, request)
            request.user = .unsaid
            #expect(try await registry.intake.putDevice(app, device, request).userID == UserID(stored: "u1"))
            request.user = .nobody
            #expect(try await registry.intake.putDevice(app, device, request).userID == nil)
        }
    }

    @Test(
        "An older generation never replaces a token; the same, a later one and none do",
        arguments: [
            (5, 4, false), (5, 5, true), (5, 6, true), (5, nil, true), (nil, 0, true), (nil, nil, true),
        ] as [(Int64?, Int64?, Bool)]
    )
    func generations(stored: Int64?, reported: Int64?, replaces: Bool) async throws {
        try await withRegistry { registry, app in
            _ = try await registry.intake.putDevice(app, device, report([game: ("aaaa0001", stored)]))
            let shown = try await registry.intake.putDevice(
                app,
                device,
                report([game: ("bbbb0002", reported), order: ("cccc", 1)])
            )
            #expect(shown.startTokens[game]?.token == (replaces ? "bbbb…" : "aaaa…"))
            #expect(shown.startTokens[game]?.generation == max(stored ?? 0, reported ?? stored ?? 0))
            #expect(shown.startTokens[order]?.token == "cccc…")
        }
    }

    @Test("A late report changes neither the user nor the token of ordinary pushes; of a new installation none is late")
    func lateReport() async throws {
        try await withRegistry { registry, app in
            func put(_ user: ReportedUser, _ digits: String, _ generation: Int64?, _ installation: String) async throws
            {
                var request = try report([game: ("aaaa0001", generation), order: ("cccc", 1)])
                (request.user, request.installation, request.deviceToken) = (user, installation, try token(digits))
                _ = try await registry.intake.putDevice(app, device, request)
            }
            func stored() async throws -> String {
                let shown = try await registry.device(app, device)
                return "\(shown.userID?.rawValue ?? "nobody") \(shown.deviceToken ?? "-")"
            }
            try await put(.user(UserID(stored: "anna")), "dddd0001", 5, "first")
            try await put(.nobody, "eeee0001", 4, "first")
            #expect(try await stored() == "anna dddd…")
            try await put(.nobody, "eeee0001", 5, "first")
            #expect(try await stored() == "nobody eeee…")
            try await put(.user(UserID(stored: "ben")), "ffff0001", nil, "first")
            #expect(try await stored() == "ben ffff…")
            try await put(.nobody, "abcd0001", 1, "second")
            #expect(try await stored() == "nobody abcd…")
        }
    }

    @Test("A new installation counts its generations anew; late reports of the one before change nothing, for good")
    func installations() async throws {
        try await withRegistry { registry, app in
            func put(_ token: String, _ generation: Int64?, _ installation: String?) async throws -> StaleReport? {
                var request = try report([game: (token, generation)])
                request.installation = installation
                request.appVersion = AppVersion(installation == "second" ? "2.0" : "1.0")
                return try await registry.intake.registerDevice(app, device, request)
            }
            func stored() async throws -> String? {
                let shown = try await registry.device(app, device)
                return "\(shown.startTokens[game]?.token ?? "-") \(shown.startTokens[game]?.generation ?? -1)"
            }
            // An app that learns to name its installation goes on with its tokens.
            #expect(try await put("aaaa0001", 57, nil) == nil)
            #expect(try await put("aaaa0001", 1, "first") == nil)
            #expect(try await stored() == "aaaa… 1")
            #expect(try await put("aaaa0001", 58, nil) == .installation)
            #expect(try await put("bbbb0001", 1, "second") == nil)
            #expect(try await stored() == "bbbb… 1")
            for installation in ["first", nil] {
                #expect(try await put("aaaa0001", 99, installation) == .installation)
                #expect(try await stored() == "bbbb… 1")
                #expect(try await registry.device(app, device).appVersion == AppVersion("2.0"))
            }
            #expect(try await put("bbbb0002", 0, "second") == .generation)
            #expect(try await stored() == "bbbb… 1")
            // Without a generation the order of arrival decides, as ever.
            #expect(try await put("cccc0001", nil, nil) == nil)
            #expect(try await stored() == "cccc… 1")
            for number in 3...40 { #expect(try await put("dddd0001", 1, "number \(number)") == nil) }
            #expect(try await put("aaaa0001", 99, "number 39") == .installation)
            let kept = try await registry.database.query("SELECT cardinality(earlier_installations) FROM devices")
            #expect(try kept.single(Int32.self) == 8)
        }
    }

    @Test("Of a report with a stale start token the rest is taken, and the answer says so")
    func partlyStale() async throws {
        try await withRegistry { registry, app in
            #expect(try await registry.intake.registerDevice(app, device, report([game: ("aaaa", 5)])) == nil)
            var mixed = try report([game: ("bbbb", 4), order: ("cccc", 1)])
            mixed.osVersion = OSVersion("18.2")
            #expect(try await registry.intake.registerDevice(app, device, mixed) == .generation)
            let shown = try await registry.device(app, device)
            #expect(shown.startTokens[game]?.generation == 5)
            #expect(shown.startTokens[order]?.generation == 1)
            #expect(shown.osVersion == OSVersion("18.2"))
        }
    }

    @Test("A device keeps as many start tokens as it may report at once; those go that were reported longest ago")
    func boundedTokens() async throws {
        try await withRegistry { registry, app in
            let names = (0..<80).map { ActivityTypeName(stored: "Type\($0)") }
            func put(_ names: ArraySlice<ActivityTypeName>) async throws -> Set<ActivityTypeName> {
                let tokens = names.map { ($0, ("aaaa" as String, nil as Int64?)) }
                let shown = try await registry.intake.putDevice(
                    app,
                    device,
                    report(Dictionary(uniqueKeysWithValues: tokens))
                )
                return Set(shown.startTokens.keys)
            }
            #expect(try await put(names[..<40]) == Set(names[..<40]))
            #expect(try await put(names[40..<64]) == Set(names[..<64]))
            #expect(try await put(names[..<1]) == Set(names[..<64]))
            let kept = try await put(names[64...])
            #expect(kept.count == 64)
            #expect(kept.isSuperset(of: names[40...] + names[..<1]))
            #expect(try await put(names[..<64]) == Set(names[..<64]))
        }
    }

    @Test("What is registered with a ticket is stored as any report is")
    func registers() async throws {
        try await withRegistry { registry, app in
            let stale = try await registry.intake.registerDevice(app, device, report([game: ("aaaa", 3)]))
            #expect(stale == nil)
            #expect(try await registry.device(app, device).startTokens[game]?.generation == 3)
        }
    }

    @Test("A new report revives a token that Apple refused", arguments: ["dead", "rejected"])
    func revives(state: String) async throws {
        try await withRegistry { registry, app in
            _ = try await registry.intake.putDevice(app, device, report([game: ("aaaa", nil)]))
            _ = try await registry.database.execute("UPDATE start_tokens SET state = \(state)::token_state")
            #expect(try await registry.device(app, device).startTokens[game]?.state != .live)
            let shown = try await registry.intake.putDevice(app, device, report([game: ("aaaa", nil)]))
            #expect(shown.startTokens[game]?.state == .live)
        }
    }

    @Test("A rejected device token is revived by a new report of it, or replaced, but by no late or other report")
    func revivesDeviceToken() async throws {
        try await withRegistry { registry, app in
            func put(_ digits: String?, _ generation: Int64) async throws -> String? {
                var request = try report([game: ("aaaa0001", generation)])
                request.deviceToken = try digits.map { try token($0) }
                let shown = try await registry.intake.putDevice(app, device, request)
                return "\(shown.deviceToken ?? "-") \(shown.deviceTokenState?.rawValue ?? "-")"
            }
            func reject() async throws {
                _ = try await registry.database.execute("UPDATE devices SET token_rejected_at = now()")
            }
            #expect(try await put(nil, 5) == "- -")
            #expect(try await put("dddd0001", 5) == "dddd… live")
            try await reject()
            #expect(try await put(nil, 5) == "dddd… rejected")
            #expect(try await put("eeee0001", 4) == "dddd… rejected")
            #expect(try await put("dddd0001", 5) == "dddd… live")
            try await reject()
            #expect(try await put("eeee0001", 6) == "eeee… live")
        }
    }

    @Test("A report of a device without its token says nothing about when the token was reported")
    func deviceTokenTime() async throws {
        try await withRegistry { registry, app in
            func put(_ digits: String?) async throws -> Bool? {
                var request = DeviceRequest(environment: .production)
                request.deviceToken = try digits.map { try token($0) }
                _ = try await registry.intake.putDevice(app, device, request)
                let isRecent: Query = "SELECT token_registered_at > now() - interval '1 hour' FROM devices"
                let rows = try await registry.database.query(isRecent)
                return try rows.first(as: Bool?.self) ?? nil
            }
            #expect(try await put(nil) == nil)
            #expect(try await put("dddd0001") == true)
            _ = try await registry.database.execute("UPDATE devices SET token_registered_at = now() - interval '1 day'")
            #expect(try await put(nil) == false)
            #expect(try await put("dddd0001") == true)
        }
    }

    @Test(
        "A report of the other environment is a new installation: old tokens are dropped, subscriptions and starts are over"
    )
    func movesEnvironment() async throws {
        try await withRegistry { registry, app in
            var first = try report([game: ("aaaa", 9), order: ("bbbb", 9)])
            first.deviceToken = try token("dddd")
            first.user = .user(UserID(stored: "u1"))
            _ = try await registry.intake.putDevice(app, device, first)
            try await subscribe(registry, app)
            var second = try report([game: ("cccc", 1)])
            second.environment = .sandbox
            let shown = try await registry.intake.putDevice(app, device, second)
            #expect(shown.environment == .sandbox)
            #expect(shown.userID == UserID(stored: "u1"))
            #expect(shown.deviceToken == nil)
            #expect(shown.startTokens.mapValues(\.token) == [game: "cccc…"])
            let tables = EngineTables(registry.database)
            #expect(try await tables.cards().map(\.state) == ["over"])
            #expect(try await tables.starts().map(\.state) == ["cancelled"])
        }
    }

    @Test("A change of the budget class reaches subscriptions that run")
    func budgetClass() async throws {
        try await withRegistry { registry, app in
            _ = try await registry.intake.putDevice(app, device, DeviceRequest(environment: .production))
            try await subscribe(registry, app)
            _ = try await registry.intake.putDevice(
                app,
                device,
                DeviceRequest(environment: .production, frequentPushesEnabled: true)
            )
            #expect(try await EngineTables(registry.database).cards().map(\.isFrequent) == [true])
        }
    }

    private func subscribe(_ registry: Orchestrator, _ app: BundleID) async throws {
        _ = try await registry.database.pipeline([
            "INSERT INTO activity_types (bundle_id, type_name, policy) VALUES (\(app.rawValue), 'Game', '{}')",
            """
            INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
                                    started_at)
            VALUES (\(app.rawValue), 'a1', 'production', 'Game', 'tokens', 'live', '{}', '{}', now())
            """,
        ])
        let tables = EngineTables(registry.database)
        try await tables.addCards("due", token: "01")
        try await tables.addStarts("pending", dueIn: 0)
    }

    @Test("Devices are listed page by page, deleted, and erased with their user")
    func listsAndForgets() async throws {
        try await withRegistry { registry, app in
            for number in 1...5 {
                var request = try report([game: ("aaa\(number)", nil)])
                if number > 2 { request.user = .user(UserID(stored: "u1")) }
                _ = try await registry.intake.putDevice(app, DeviceID(stored: "d\(number)"), request)
            }
            var ids: [String] = []
            var cursor: String?
            repeat {
                let page = try await registry.devices(app, PageRequest(limit: 2, cursor: cursor))
                ids += page.items.map(\.deviceID.rawValue)
                #expect(page.items.allSatisfy { $0.startTokens.count == 1 })
                cursor = page.nextCursor
            } while cursor != nil
            #expect(ids == ["d1", "d2", "d3", "d4", "d5"])
            let user = UserID(stored: "u1")
            let first = try await registry.devices(app, user: user, PageRequest(limit: 2))
            #expect(first.items.map(\.deviceID.rawValue) == ["d3", "d4"])
            let request = PageRequest(limit: 2, cursor: first.nextCursor)
            let rest = try await registry.devices(app, user: user, request)
            #expect(rest.items.map(\.deviceID.rawValue) == ["d5"] && rest.nextCursor == nil)
            #expect(try await registry.devices(app, user: UserID(stored: "u2"), PageRequest()).items.isEmpty)
            try await registry.deleteDevice(app, device)
            #expect(try await problem { try await registry.deleteDevice(app, device) }?.status == 404)
            try await registry.eraseUser(app, UserID(stored: "u1"))
            try await registry.eraseUser(app, UserID(stored: "u1"))
            #expect(try await registry.devices(app, PageRequest()).items.map(\.deviceID.rawValue) == ["d2"])
            let tokens = try await registry.database.query("SELECT count(*) FROM start_tokens")
            #expect(try tokens.single(Int.self) == 1)
        }
    }

    @Test("A search by token takes four digits or a whole token, of any kind, and finds devices of its app alone")
    func tokenSearch() async throws {
        try await withWorld { world in
            try await world.register("starts", token: "aabb01")
            try await world.register("updates", token: "cc0001")
            try await world.register("alerts", deviceToken: "aabb03")
            try await world.start(to: World.devices("updates"))
            try await world.follow("updates", token: "aabb02")

            func found(_ digits: String, in app: BundleID? = nil, limit: Int = 50) async throws -> Set<String> {
                let page = try await world.orchestrator.devices(
                    app ?? world.app,
                    token: PushToken(hex: digits),
                    PageRequest(limit: limit)
                )
                return Set(page.items.map(\.deviceID.rawValue))
            }
            #expect(try await found("aabb") == ["starts", "updates", "alerts"])
            #expect(try await found("aabb", limit: 1).count == 1)
            #expect(try await found("aabb01") == ["starts"])
            #expect(try await found("aabb02") == ["updates"])
            #expect(try await found("aabb03") == ["alerts"])
            // Longer beginnings would tell a token digit by digit.
            #expect(try await found("cc00") == ["updates"])
            #expect(try await found("aabbcc") == [])

            let other = BundleID(stored: "com.example.other")
            _ = try await world.orchestrator.putApp(other, .production(key: try P256PrivateKey.generate().pem()))
            #expect(try await found("aabb", in: other) == [])
        }
    }

    @Test("Devices of an app that does not exist are 404")
    func unknownApp() async throws {
        try await withRegistry { registry, _ in
            let none = BundleID(stored: "com.example.none")
            let put = try await problem {
                _ = try await registry.intake.putDevice(none, device, DeviceRequest(environment: .production))
            }
            #expect(put?.status == 404)
            #expect(try await problem { _ = try await registry.devices(none, PageRequest()) }?.status == 404)
        }
    }

    @Test("Reports of one device at the same moment end with the latest generation")
    func concurrent() async throws {
        try await withRegistry { registry, app in
            let requests = try (1...12).map { try report([game: ("aa" + String(format2($0)), Int64($0))]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for request in requests.shuffled() {
                    group.addTask { _ = try await registry.intake.putDevice(app, device, request) }
                }
                try await group.waitForAll()
            }
            #expect(try await registry.device(app, device).startTokens[game]?.generation == 12)
        }
    }

    private func format2(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
