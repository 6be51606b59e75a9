import APITypes
import APNSTransport
import Glibc
import HTTPAPI
import Logging
import Metrics
import Orchestrator
import Postgres
import ServiceLifecycle
import UnixSignals
import Store

/// All services of one daemon in one group, in the order of their dependencies: the first stops last.
struct Daemon: Sendable {
    let configuration: DaemonConfiguration

    /// Serves until SIGTERM or SIGINT; then drains: first no new requests, then what was accepted, then the database.
    ///
    /// - Parameters:
    ///   - companions: Services that stop after all others.
    ///   - onListening: Told the address of the API, once it takes requests.
    /// - Throws: What keeps it from starting: a database that is away, not migrated or too new; an address that is
    ///   taken.
    func run(
        companions: [any Service] = [],
        onListening: @escaping @Sendable (String, Orchestrator) async throws -> Void
    ) async throws {
        let logger = Self.logger(level: configuration.logLevel, configuration.logFormat)
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        logger.info("tallyd begins", metadata: ["version": "\(ProgramVersion.current)"])
        Gauge(label: "tally_build_info", dimensions: [("version", ProgramVersion.current)]).record(1)
        var pool = Database.Configuration()
        pool.maximumConnections = configuration.databaseConnections
        let database = try Database(url: configuration.databaseURL, configuration: pool, logger: logger)
        try await checkSchema(logger)
        let masterKeys = MasterKeys(configuration.masterKey, previous: configuration.previousMasterKey)
        let client = try client(on: database, masterKeys, logger)
        let orchestrator = Orchestrator(
            database: database,
            sender: client,
            masterKeys: masterKeys,
            settings: settings,
            logger: logger
        )
        let server = server(of: orchestrator, metrics, onListening, logger)
        var group = ServiceGroupConfiguration(
            services: companions + [database, client] + orchestrator.services + [server],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = .seconds(30)
        try await ServiceGroup(configuration: group).run()
    }

    /// Refuses a database that is not migrated or too new. One that is away may come back: it is waited for, half a
    /// minute.
    private func checkSchema(_ logger: Logger) async throws {
        var pool = Database.Configuration()
        pool.maximumConnections = 1
        pool.acquireTimeout = .seconds(30)
        pool.connectTimeout = .seconds(10)
        let database = try Database(url: configuration.databaseURL, configuration: pool, logger: logger)
        let result: Result<Void, any Error>
        do {
            result = .success(try await Migrator.ofThisVersion().check(database))
        } catch {
            result = .failure(error)
        }
        await database.shutDown()
        try result.get()
    }

    /// Logs go to standard error, one line each.
    static func logger(level: Logger.Level, _ format: LogFormat = .text) -> Logger {
        var logger = Logger(label: "tallyd") { label in
            LineLogHandler(label: label, format: format)
        }
        logger.logLevel = level
        return logger
    }

    // MARK: Its parts

    private func client(on database: Database, _ masterKeys: MasterKeys, _ logger: Logger) throws -> APNSClient {
        var transport = APNSClientConfiguration()
        // Promise 2 counts from the longest wait of all, and a push waits for its connection, too.
        transport.maximumReconnectDelay = configuration.apnsRetryMaximum
        return try APNSClient(
            endpoints: configuration.endpoints,
            caFile: configuration.apnsCAFile,
            providerTokens: SharedProviderTokens(
                database: database,
                masterKeys: masterKeys,
                logger: logger
            ),
            configuration: transport,
            logger: logger
        )
    }

    private var settings: OrchestratorSettings {
        OrchestratorSettings(
            bootstrapKey: configuration.bootstrapKey,
            retryCap: configuration.apnsRetryMaximum,
            ringSize: configuration.ringSize,
            eventRetention: configuration.eventRetention,
            activityRetention: configuration.activityRetention,
            auditRetention: configuration.auditRetention,
            intakeLimit: configuration.intakeLimit,
            intakeWait: configuration.intakeWait
        )
    }

    private func server(
        of orchestrator: Orchestrator,
        _ metrics: PrometheusMetrics,
        _ onListening: @escaping @Sendable (String, Orchestrator) async throws -> Void,
        _ logger: Logger
    ) -> HTTPServer {
        HTTPServer(
            service: orchestrator,
            configuration: HTTPServerConfiguration(
                host: configuration.httpHost,
                port: configuration.httpPort,
                metricsListener: configuration.metricsListener,
                requestsPerSecond: configuration.httpRateLimit,
                drainDelay: configuration.drainDelay
            ),
            metrics: metrics,
            onListening: { address in
                guard address.purpose == .api else {
                    logger.info("serving metrics without a key", metadata: ["address": "\(address)"])
                    return
                }
                do {
                    try await onListening(address.url, orchestrator)
                } catch {
                    // A daemon that ends has no address to announce.
                    let level = Task.isCancelled ? Logger.Level.debug : .error
                    logger.log(level: level, "cannot announce the address", metadata: ["error": "\(error)"])
                }
            },
            logger: logger
        )
    }
}

/// Hands a line to whoever reads our output through a pipe at once, not when a buffer is full.
func flushOutput() {
    fflush(nil)
}
