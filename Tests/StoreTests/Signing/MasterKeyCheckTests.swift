import Cryptography
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Trying the master key", .timeLimit(.minutes(2)))
struct MasterKeyCheckTests {
    @Test("A daemon with another master key is told to operators and logged, until the key fits")
    func wrongKey() async throws {
        try await withWorld { world in
            let lines = LogLines()
            let store = Store(
                database: world.database,
                masterKeys: MasterKeys(.generate()),
                settings: OrchestratorSettings(),
                logger: lines.logger
            )
            #expect(store.masterKeyWatch.warning == nil)
            try await MasterKeyCheck(store: store).look()
            #expect(store.masterKeyWatch.warning?.hasPrefix("1 of 1 signing keys do not open") == true)
            #expect(store.masterKeyWatch.cannotSend)
            #expect(lines.all.count { $0.contains("TALLY_MASTER_KEY") && $0.contains("com.example.app") } == 1)
            // It tries every few seconds, and says so once a minute.
            try await MasterKeyCheck(store: store).look()
            #expect(lines.all.count { $0.contains("TALLY_MASTER_KEY") } == 1)

            _ = try await world.database.execute("DELETE FROM signing_keys")
            try await MasterKeyCheck(store: store).look()
            #expect(store.masterKeyWatch.warning == nil)
            #expect(!store.masterKeyWatch.cannotSend)
        }
    }

    @Test("A daemon that opens one of several keys goes on")
    func oneKey() async throws {
        try await withWorld { world in
            let store = world.orchestrator.store
            _ = try await world.database.execute(
                """
                INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
                SELECT bundle_id, 'sandbox', key_id, '' FROM signing_keys
                """
            )
            try await MasterKeyCheck(store: store).look()
            #expect(store.masterKeyWatch.warning?.hasPrefix("1 of 2 signing keys do not open") == true)
            #expect(!store.masterKeyWatch.cannotSend)
        }
    }

    @Test("The key that the signing keys are sealed with is no news, and neither is one that is being replaced")
    func rightKey() async throws {
        try await withWorld { world in
            let store = world.orchestrator.store
            try await MasterKeyCheck(store: store).look()
            #expect(store.masterKeyWatch.warning == nil)
            let replacing = Store(
                database: world.database,
                masterKeys: MasterKeys(.generate(), others: [store.masterKeys.current]),
                settings: OrchestratorSettings(),
                logger: store.logger
            )
            try await MasterKeyCheck(store: replacing).look()
            #expect(replacing.masterKeyWatch.warning == nil)
        }
    }
}
