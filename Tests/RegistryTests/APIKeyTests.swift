import APITypes
import ActivityModel
import Cryptography
import JSON
import Orchestrator
import OrchestratorTestSupport
import Postgres
import Registry
import Testing

@Suite("API keys in the registry", .timeLimit(.minutes(2)))
struct APIKeyTests {
    @Test("A key authenticates with its scopes and app, and its secret is stored as a hash only")
    func authenticates() async throws {
        try await withRegistry { registry, app in
            let request = APIKeyRequest(name: "backend", scopes: [.publish, .read], bundleID: app)
            let key = try await registry.createAPIKey(request)
            let secret = try #require(key.secret)
            #expect(secret.hasPrefix("tally_"))
            #expect(secret.count == 6 + 43)
            let expected = Principal(keyID: key.id, scopes: [.publish, .read], app: app)
            #expect(try await registry.authenticate(secret: secret) == expected)
            #expect(try await registry.authenticate(secret: secret + "x") == nil)
            #expect(try await registry.authenticate(secret: "") == nil)
            let hash = try await registry.database.query("SELECT secret_sha256, last_used_at FROM api_keys")
            #expect(try hash.first?.decode([UInt8].self, at: 0) == SHA256.hash(secret))
            let listed = try await registry.apiKeys(PageRequest(), only: nil).items
            #expect(listed.map(\.id) == [key.id])
            #expect(listed.first?.secret == nil)
            #expect(listed.first?.lastUsedAt != nil)
        }
    }

    @Test("A revoked key is refused at once on this daemon, an expired one always")
    func revoked() async throws {
        try await withRegistry { registry, app in
            let key = try await registry.createAPIKey(APIKeyRequest(name: "a", scopes: [.admin], bundleID: app))
            let secret = try #require(key.secret)
            #expect(try await registry.authenticate(secret: secret) != nil)
            let other = BundleID(stored: "com.example.other")
            #expect(try await problem { try await registry.revokeAPIKey(key.id, only: other) }?.status == 404)
            try await registry.revokeAPIKey(key.id, only: app)
            try await registry.revokeAPIKey(key.id, only: nil)
            #expect(try await registry.authenticate(secret: secret) == nil)
            #expect(try await problem { try await registry.revokeAPIKey(ChannelID.zero, only: nil) }?.status == 404)
            let future = Instant(unixSeconds: 4_000_000_000)
            let expired = try await registry.createAPIKey(APIKeyRequest(name: "b", scopes: [.read], expiresAt: future))
            #expect(expired.expiresAt == future)
            _ = try await registry.database.query(
                "UPDATE api_keys SET expires_at = clock_timestamp() WHERE api_key_id = \(expired.id)::uuid"
            )
            #expect(try await registry.authenticate(secret: try #require(expired.secret)) == nil)
        }
    }

    @Test("A key that would be over before it is made is refused")
    func pastExpiry() async throws {
        try await withRegistry { registry, _ in
            let past = Instant(unixSeconds: 1_000_000_000)
            let refused = try await problem {
                _ = try await registry.createAPIKey(APIKeyRequest(name: "b", scopes: [.read], expiresAt: past))
            }
            #expect(refused?.code == "invalid_request")
            #expect(refused?.errors.map(\.message) == ["'expires_at' is in the past."])
            #expect(try await registry.apiKeys(PageRequest(), only: nil).items.isEmpty)
        }
    }

    @Test("The bootstrap key is an unbound admin")
    func bootstrap() async throws {
        try await withRegistry(bootstrapKey: "first-steps") { registry, _ in
            let expected = Principal(keyID: Principal.bootstrapKeyID, scopes: [.admin], app: nil)
            let right = try await registry.authenticate(secret: "first-steps")
            let wrong = try await registry.authenticate(secret: "first-step")
            #expect(right == expected)
            #expect(wrong == nil)
        }
    }

    @Test("A key for an app that does not exist is 422")
    func unknownApp() async throws {
        try await withRegistry { registry, _ in
            let request = APIKeyRequest(name: "a", scopes: [.read], bundleID: BundleID(stored: "com.example.none"))
            let refused = try await problem { _ = try await registry.createAPIKey(request) }
            #expect(refused?.errors.map(\.pointer.description) == ["/bundle_id"])
        }
    }

    @Test("Lists are in the order of making, page by page, and bound admins see their own")
    func paging() async throws {
        try await withRegistry { registry, app in
            for name in ["1", "2", "3"] {
                _ = try await registry.createAPIKey(
                    APIKeyRequest(name: name, scopes: [.read], bundleID: name == "2" ? app : nil)
                )
            }
            var names: [String] = []
            var cursor: String?
            repeat {
                let page = try await registry.apiKeys(PageRequest(limit: 1, cursor: cursor), only: nil)
                names += page.items.map(\.name)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(names == ["1", "2", "3"])
            #expect(try await registry.apiKeys(PageRequest(), only: app).items.map(\.name) == ["2"])
        }
    }
}

extension ChannelID {
    fileprivate static let zero = "00000000-0000-0000-0000-000000000000"
}
