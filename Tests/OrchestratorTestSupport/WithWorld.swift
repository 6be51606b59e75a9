import APITypes
package import ActivityModel
import Cryptography
import JSON
import Logging
package import Metrics
package import Postgres
import Schema
package import Store
import TestSupport
import Waiting

import Intake
@testable package import Orchestrator

/// Lends a world whose intake runs; or one in which nothing runs and the test runs the services, if it `isAlive`.
package func withWorld(
    policy change: (inout Policy) -> Void = { _ in },
    settings: OrchestratorSettings = OrchestratorSettings(),
    isAlive: Bool = false,
    connections: Int = 10,
    _ body: (World) async throws -> Void
) async throws {
    let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
    var policy = Policy()
    change(&policy)
    await turnstile.enter()
    defer { turnstile.leave() }
    var configuration = Database.Configuration.patient
    configuration.maximumConnections = connections
    try await withDatabase(migrations: migrations, configuration: configuration) { [policy] database in
        let world = World(
            orchestrator: .test(on: database, Recorder(), settings: settings),
            app: BundleID(stored: "com.example.app")
        )
        try await world.prepare(policy)
        if isAlive {
            try await body(world)
        } else {
            try await world.withIntake { try await body(world) }
        }
    }
}

/// Lets a few tests at a time work on the database: they look at the clock, which goes on while they wait for a
/// processor.
private let turnstile = Turnstile(width: 4)

extension World {
    package init(orchestrator: Orchestrator, app: BundleID) {
        // Every orchestrator of these tests sends to a recorder.
        self.init(
            orchestrator: orchestrator,
            recorder: orchestrator.sender as? Recorder ?? Recorder(),
            app: app
        )
    }

    /// Another daemon on the same database, with the same key and sender; what it asks of the database passes a gate.
    package func sibling(
        settings: OrchestratorSettings? = nil,
        behind gate: StatementGate? = nil,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) -> World {
        World(
            orchestrator: Orchestrator(
                database: gate.map { Database(database, behind: $0) } ?? database,
                sender: recorder,
                masterKeys: orchestrator.masterKeys,
                settings: settings ?? orchestrator.settings,
                logger: orchestrator.logger,
                metrics: metrics
            ),
            app: app
        )
    }

    package func withIntake(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { await orchestrator.intake.duty.run() }
            try await body()
            group.cancelAll()
        }
    }

    /// Registers the app and its type. `key`: the signing key in PEM; nil: a new one.
    package func prepare(_ policy: Policy, key: String? = nil) async throws {
        _ = try await orchestrator.putApp(app, .production(key: key ?? P256PrivateKey.generate().pem()))
        let state =
            #"{"type":"object","properties":{"score":{"type":"integer"},"note":{"type":"string"}},"required":["score"]}"#
        let attributes = #"{"type":"object","properties":{"home":{"type":"string"}},"required":["home"]}"#
        _ = try await orchestrator.putType(
            app,
            Self.game,
            TypeRequest(
                source: .schemas(attributes: try json(attributes), contentState: try json(state)),
                policy: policy
            ),
            force: false
        )
    }
}

extension Orchestrator {
    package static func test(
        on database: Database,
        _ recorder: Recorder,
        settings: OrchestratorSettings
    ) -> Orchestrator {
        Orchestrator(
            database: database,
            sender: recorder,
            masterKeys: MasterKeys(.generate()),
            settings: settings,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
