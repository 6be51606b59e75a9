import APNSTransport
import ActivityModel
import BenchSupport
import Cryptography
import Logging
import Metrics
import Orchestrator
import Postgres
import ServiceLifecycle
import Store
import Webhooks

/// The services of one daemon, wired and set as `tallyd serve` does it without configuration; but without the HTTP API.
struct Daemon: Sendable {
    static let logger = {
        var logger = Logger(label: "bench") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }()

    let orchestrator: Orchestrator
    let sender: ObservedSender
    /// Another daemon on the same database needs the same.
    let masterKey: SymmetricKey
    private let database: Database
    private let client: APNSClient
    /// Only the owner of a webhook's partition delivers to it. Without webhooks nothing asks for an owner, and its renewals
    /// would count among the rows that a figure says are written.
    private let ownsPartitions: Bool

    /// Of `options`, `--database` is the URL, `--port` the sink's and `--ca` the file with its authority.
    ///
    /// - Throws: What an option lacks, or why the URL or the authority cannot be used.
    init(
        _ options: Options,
        masterKey: SymmetricKey = .generate(),
        webhooks: (any WebhookSender)? = nil
    ) throws {
        self.masterKey = masterKey
        ownsPartitions = webhooks != nil
        var pool = Database.Configuration()
        pool.maximumConnections = 16
        database = try Database(url: options.text("database"), configuration: pool, logger: Self.logger)
        var endpoints = APNSEndpoints()
        endpoints[.production, .device] = APNSEndpoint(
            host: "localhost",
            port: UInt16(clamping: try options.number("port"))
        )
        client = try APNSClient(
            endpoints: endpoints,
            caFile: options.text("ca"),
            providerTokens: SharedProviderTokens(
                database: database,
                masterKeys: MasterKeys(masterKey),
                logger: Self.logger
            ),
            logger: Self.logger,
            metrics: CountingMetrics()
        )
        sender = ObservedSender(base: client)
        orchestrator = Orchestrator(
            database: database,
            sender: sender,
            webhooks: webhooks,
            masterKeys: MasterKeys(masterKey),
            settings: OrchestratorSettings(),
            logger: Self.logger
        )
    }

    /// Serves while `body` runs, then drains.
    func whileServing<R: Sendable>(_ body: @Sendable @escaping () async throws -> R) async throws -> R {
        var services: [any Service] = [database, client]
        services += orchestrator.services
        if ownsPartitions { services.append(orchestrator.ownership) }
        var configuration = ServiceGroupConfiguration(services: services, logger: Self.logger)
        configuration.maximumGracefulShutdownDuration = .seconds(30)
        let group = ServiceGroup(configuration: configuration)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result = try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }
}
