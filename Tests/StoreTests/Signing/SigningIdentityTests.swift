import APITypes
import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Cryptography
@testable import Orchestrator
@testable import Store

@Suite("The keys that pushes are signed with", .timeLimit(.minutes(2)))
struct SigningIdentityTests {
    @Test("A key is opened once, however often it is looked up, until another is stored")
    func openedOnce() async throws {
        try await withWorld { world in
            let passed = Mutex(Duration.zero)
            let began = ContinuousClock.now
            let identities = SigningIdentities(database: world.database, masterKeys: world.orchestrator.masterKeys) {
                began + passed.withLock { $0 }
            }
            func look() async throws -> SigningIdentity {
                try await identities.identity(of: world.app, .production)
            }
            let first = try await look()
            passed.withLock { $0 += .seconds(6) }
            #expect(try await look().privateKey.key === first.privateKey.key)

            let key = try P256PrivateKey.generate()
            _ = try await world.orchestrator.putApp(
                world.app,
                AppRequest(
                    teamID: TeamID(stored: "ABCDE12345"),
                    environments: [.production: SigningKeyRequest(keyID: first.keyID, privateKey: key.pem())]
                )
            )
            #expect(try await look() == first)
            passed.withLock { $0 += .seconds(6) }
            #expect(try await look().privateKey == key)
        }
    }
}
