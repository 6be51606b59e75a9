import ActivityModel
import HTTP2Engine
import Testing

@testable import APNSTransport

/// Header fields are laid out once for all that leave with the same, and never taken for those of another push.
struct RecentHeadersTests {
    private static let app = BundleID(stored: "com.example.matchday")

    private static func head(_ priority: PushPriority = .ten, expiration: Int64) -> RequestHead {
        .devicePush(PushHeaders(bundleID: app, priority: priority, expiration: expiration))
    }

    private static func token(_ text: String) -> ProviderToken { ProviderToken(text: text, issuedAt: 1_800_000_000) }

    @Test func `the same head and token are laid out once`() throws {
        var recent = RecentHeaders(authority: "api.push.apple.com")
        let first = try recent.headers(Self.head(expiration: 60), Self.token("a"))
        #expect(try recent.headers(Self.head(expiration: 60), Self.token("a")) === first)
    }

    @Test func `another field or another token has its own`() throws {
        var recent = RecentHeaders(authority: "api.push.apple.com")
        let all = [
            try recent.headers(Self.head(expiration: 60), Self.token("a")),
            try recent.headers(Self.head(expiration: 61), Self.token("a")),
            try recent.headers(Self.head(.five, expiration: 60), Self.token("a")),
            try recent.headers(Self.head(expiration: 60), Self.token("b")),
        ]
        #expect(Set(all.map(ObjectIdentifier.init)).count == all.count)
    }

    @Test func `what no other push will have takes no place`() throws {
        var recent = RecentHeaders(authority: "api.push.apple.com")
        let first = try recent.headers(Self.head(expiration: 60), Self.token("a"))
        for number in 0..<RecentHeaders.capacity {
            var headers = PushHeaders(bundleID: Self.app, priority: .ten, expiration: 60)
            headers.requestID = APNSRequestID(stored: "eabeae54-14a8-11e5-b60b-1697f925ec7b")
            headers.collapseID = "collapsed-\(number)"
            _ = try recent.headers(.devicePush(headers), Self.token("a"))
            let channel = APNSChannelID(stored: "channel-\(number)")
            _ = try recent.headers(.channelReading(bundleID: Self.app, channelID: channel), Self.token("a"))
        }
        #expect(try recent.headers(Self.head(expiration: 60), Self.token("a")) === first)
    }

    @Test func `the oldest make room for new ones`() throws {
        var recent = RecentHeaders(authority: "api.push.apple.com")
        let capacity = Int64(RecentHeaders.capacity)
        let first = try recent.headers(Self.head(expiration: 0), Self.token("a"))
        let second = try recent.headers(Self.head(expiration: 1), Self.token("a"))
        for expiration in 2...capacity { _ = try recent.headers(Self.head(expiration: expiration), Self.token("a")) }
        #expect(try recent.headers(Self.head(expiration: 1), Self.token("a")) === second)
        #expect(try recent.headers(Self.head(expiration: 0), Self.token("a")) !== first)
    }
}
