package import APITypes
package import ActivityModel
import Cryptography
package import JSON
import Logging
import Intake
@testable package import Orchestrator
import Postgres
import Schema
import Store
import TestSupport

/// Lends an orchestrator on a fresh database with the app `com.example.app` in production.
package func withRegistry(
    bootstrapKey: String? = nil,
    _ body: (Orchestrator, BundleID) async throws -> Void
) async throws {
    let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
    try await withDatabase(migrations: migrations) { database in
        let orchestrator = Orchestrator(
            database: database,
            sender: NoSender(),
            masterKeys: MasterKeys(.generate()),
            settings: OrchestratorSettings { $0.bootstrapKey = bootstrapKey },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let app = BundleID(stored: "com.example.app")
        _ = try await orchestrator.putApp(app, .production(key: P256PrivateKey.generate().pem()))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await orchestrator.intake.duty.run() }
            defer { group.cancelAll() }
            try await body(orchestrator, app)
        }
    }
}

extension AppRequest {
    package static func production(key: String?) -> AppRequest {
        AppRequest(
            teamID: TeamID(stored: "ABCDE12345"),
            environments: [.production: SigningKeyRequest(keyID: KeyID(stored: "KEY1234567"), privateKey: key)]
        )
    }
}

/// The problem that an operation throws; nil if it throws none.
package func problem(_ operation: () async throws -> Void) async throws -> Problem? {
    do {
        try await operation()
        return nil
    } catch let problem as Problem {
        return problem
    }
}

/// A value from JSON text; a test whose text is wrong fails.
package func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }
