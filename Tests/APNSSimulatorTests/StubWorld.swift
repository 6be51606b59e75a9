import ActivityModel

@testable import APNSSimulator

/// A world of a few fixed things.
struct StubWorld: RulesWorld {
    static let now: Int64 = 1_800_000_000
    static let keyID = "KEY1234567"
    static let teamID = "TEAM123456"
    static let bundleID = "com.example.game"
    static let updateToken = String(repeating: "ab", count: 80)
    static let storing = "c3RvcmluZzEyMzQ1Njc4OQ=="
    static let storingNothing = "bm90aGluZzEyMzQ1Njc4OQ=="
    static let deleted = "ZGVsZXRlZDEyMzQ1Njc4OQ=="

    var channelLimit: Int { 3 }
    var answersAsDocumented = false

    func hasBroadcast(bundleID: String) -> Bool { bundleID != "com.example.silent" }

    func credential(_ authorization: String?) -> Credential {
        var token = ReceivedProviderToken(
            keyID: Self.keyID,
            teamID: Self.teamID,
            issuedAt: Self.now - 60,
            signature: .unchecked
        )
        switch authorization {
        case nil: return .missing
        case "malformed": return .malformed
        case "other team": token.key = KeyScope(teamID: "OTHERTEAM0")
        case "forged": token.signature = .invalid
        case "3601 s old": token.issuedAt = Self.now - 3601
        case "3601 s ahead": token.issuedAt = Self.now + 3601
        case "production key": token.key = KeyScope(teamID: Self.teamID, environment: "production")
        case "topic key": token.key = KeyScope(teamID: Self.teamID, bundleIDs: ["com.example.elsewhere"])
        default: break
        }
        return .token(token)
    }

    func token(_ hex: String, environment: APNSEnvironment, at milliseconds: Int64) -> KnownTokenState {
        guard environment == .sandbox else { return .unknown }
        return switch hex {
        case Self.updateToken, "ab": .live(bundleID: Self.bundleID, use: .update)
        case "de01": .live(bundleID: Self.bundleID, use: .device)
        case "dead": .dead(bundleID: Self.bundleID, use: .update, .unregistered, since: 1_700_000_000_123)
        case "01d0": .dead(bundleID: Self.bundleID, use: .update, .expired, since: 1_700_000_000_456)
        default: .unknown
        }
    }

    func channel(_ id: String, bundleID: String, environment: APNSEnvironment) -> KnownChannelState {
        switch id {
        case Self.storing: .registered(.mostRecent)
        case Self.storingNothing: .registered(.none)
        case Self.deleted: .notRegistered
        default: .neverExisted
        }
    }

    func channelCount(bundleID: String, environment: APNSEnvironment) -> Int {
        bundleID == "com.example.full" ? 3 : 2
    }
}

extension ConnectionMemory {
    init(key: String, team: String = StubWorld.teamID, _ authorization: String, _ since: Int64) {
        self.init()
        keyID = key
        teamID = team
        self.authorization = authorization
        authorizationSince = since
    }
}

extension APNSRequest {
    static let device = request(.device, "POST", "/3/device/\(StubWorld.updateToken)") { headers in
        headers.topic = StubWorld.bundleID + ".push-type.liveactivity"
        headers.pushType = "liveactivity"
        headers.priority = "5"
        headers.expiration = "1800000600"
        headers.messageID = "5f0c6b9e-2b8c-4e58-9e4f-0b6e0b6a5c11"
    }
    static let broadcast = request(.broadcast, "POST", "/4/broadcasts/apps/\(StubWorld.bundleID)") { headers in
        headers.channelID = StubWorld.storing
        headers.pushType = "liveactivity"
        headers.priority = "10"
        headers.expiration = "1800000600"
    }
    static let create = request(.channels, "POST", "/1/apps/\(StubWorld.bundleID)/channels") { _ in }
        .text(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    static let read = request(.channels, "GET", "/1/apps/\(StubWorld.bundleID)/channels") {
        $0.channelID = StubWorld.storing
    }
    static let delete = read.method("DELETE")
    static let list = request(.channels, "GET", "/1/apps/\(StubWorld.bundleID)/all-channels") { _ in }

    private static func request(
        _ api: AppleAPI,
        _ method: String,
        _ path: String,
        _ headers: (inout RequestHeaders) -> Void
    ) -> APNSRequest {
        var fields = RequestHeaders()
        fields.authorization = "valid"
        headers(&fields)
        let body = Array("{}".utf8)
        return APNSRequest(environment: .sandbox, api: api, method: method, path: path, headers: fields, body: body)
    }

    func changed(_ change: (inout APNSRequest) -> Void) -> APNSRequest {
        var copy = self
        change(&copy)
        return copy
    }

    func with(_ change: (inout RequestHeaders) -> Void) -> APNSRequest { changed { change(&$0.headers) } }
    func path(_ path: String) -> APNSRequest { changed { $0.path = path } }
    func method(_ method: String) -> APNSRequest { changed { $0.method = method } }
    func at(_ api: AppleAPI) -> APNSRequest { changed { $0.api = api } }
    func text(_ body: String) -> APNSRequest { changed { $0.body = Array(body.utf8) } }
    func body(_ count: Int) -> APNSRequest { changed { $0.body = Array(repeating: 0x20, count: count) } }
    var production: APNSRequest { changed { $0.environment = .production } }
}
