import ActivityModel
import Testing

@testable import APNSTransport

@Suite("The keys that apps sign with")
struct KeysInUseTests {
    private func identity(_ key: String) throws -> SigningIdentity {
        let some = try testIdentity()
        return SigningIdentity(
            teamID: some.teamID,
            keyID: try #require(KeyID(key)),
            privateKey: some.privateKey
        )
    }

    @Test("a key is in use until the last app that had it turns up with another, in each environment for itself")
    func use() throws {
        let scores = try #require(BundleID("com.example.Scores"))
        let taxi = try #require(BundleID("com.example.Taxi"))
        let old = try identity("OLDKEY0001")
        let new = try identity("NEWKEY0001")
        var keys = KeysInUse()
        #expect(!keys.contains(old, environment: .sandbox))
        keys.use(old, app: scores, environment: .sandbox)
        keys.use(old, app: scores, environment: .production)
        keys.use(old, app: taxi, environment: .sandbox)
        keys.use(new, app: scores, environment: .sandbox)
        #expect(keys.contains(old, environment: .sandbox))
        #expect(keys.contains(new, environment: .sandbox))
        keys.use(new, app: taxi, environment: .sandbox)
        #expect(!keys.contains(old, environment: .sandbox))
        #expect(keys.contains(old, environment: .production))
    }
}
