import APITypes
import APNSTransport
import ActivityModel
import Cryptography
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Store
@testable import Webhooks

@Suite("Replacing the master key", .timeLimit(.minutes(2)))
struct MasterKeyRotationTests {
    @Test("What another key of the list sealed is read at once, and sealed with the new one for good")
    func rotation() async throws {
        try await withWorld { world in
            let old = world.orchestrator.masterKeys.current
            let keys = MasterKeys(.generate(), others: [.generate(), old])
            func tokens(_ keys: MasterKeys) -> SharedProviderTokens {
                SharedProviderTokens(database: world.database, masterKeys: keys, logger: world.orchestrator.logger)
            }
            func signer(_ keys: MasterKeys) async throws -> SigningIdentity {
                try await SigningIdentities(database: world.database, masterKeys: keys)
                    .identity(of: world.app, .production)
            }
            let key = try await world.orchestrator.createTicketKey(world.app, TicketKeyRequest(algorithm: .hs256))
            let stored = Array((key.secret ?? "").utf8)
            func ticketKey(_ keys: MasterKeys) async throws -> [UInt8] {
                let sealed = try await world.database.query("SELECT key_sealed FROM ticket_keys").single([UInt8].self)
                return try SecretSeal.ticketKey(world.app, key.id).open(sealed ?? [], under: keys)
            }
            let hook = WebhookID(stored: "audit")
            let secret = try await world.orchestrator
                .putWebhook(world.app, hook, WebhookRequest(url: "https://hooks.example.com")).secret
            func webhookSecret(_ keys: MasterKeys) async throws -> String {
                let sealed = try await world.database.query("SELECT secret_sealed FROM webhooks").single([UInt8].self)
                let bytes = try SecretSeal.webhook(world.app, hook).open(sealed ?? [], under: keys)
                return WebhookSecret(bytes: bytes).text
            }
            let identity = try await signer(MasterKeys(old))
            let token = try await tokens(MasterKeys(old)).token(for: identity, replacing: nil).token

            #expect(try await signer(keys).keyID == identity.keyID)
            #expect(try await tokens(keys).token(for: identity, replacing: nil).token == token)

            let rotation = MasterKeyRotation(
                database: world.database,
                keys: keys,
                secrets: Orchestrator.sealedSecrets,
                logger: world.orchestrator.logger
            )
            #expect(try await rotation.pass() == MasterKeyRotation.Findings(resealed: 4))
            #expect(try await rotation.pass() == MasterKeyRotation.Findings())

            let alone = MasterKeys(keys.current)
            #expect(try await signer(alone).keyID == identity.keyID)
            #expect(try await tokens(alone).token(for: identity, replacing: nil).token == token)
            #expect(try await ticketKey(alone) == stored)
            #expect(try await webhookSecret(alone) == secret)
            let closed = await #expect(throws: SigningKeyClosed.self) { _ = try await signer(MasterKeys(old)) }
            #expect(closed?.description.contains("\(identity.keyID)") == true)
            #expect(closed?.description.contains("TALLY_MASTER_KEY") == true)
            await #expect(throws: CryptographyError.self) { _ = try await ticketKey(MasterKeys(old)) }
        }
    }

    @Test("What opens with no key is left as it is, and counted")
    func unreadable() async throws {
        try await withWorld { world in
            let rotation = MasterKeyRotation(
                database: world.database,
                keys: MasterKeys(.generate(), others: [.generate()]),
                secrets: Orchestrator.sealedSecrets,
                logger: world.orchestrator.logger
            )
            #expect(try await rotation.pass() == MasterKeyRotation.Findings(unreadable: 1))
            _ = try await world.orchestrator.store.signing.identity(of: world.app, .production)
        }
    }
}
