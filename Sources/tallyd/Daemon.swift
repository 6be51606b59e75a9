import APITypes
import APNSTransport
import Console
import Glibc
import HTTPAPI
import Logging
import Metrics
import Orchestrator
import Postgres
import ServiceLifecycle
import UnixSignals
import Store
import WebhookTransport

/// All services of one daemon in one group, in order of their dependencies. The first service stops last.
struct Daemon: Sendable {
    let configuration: DaemonConfiguration

    /// Serves until SIGTERM or SIGINT. Then it refuses new requests, finishes the accepted ones, and closes the
    /// database.
    ///
    /// - Parameters:
    ///   - companions: Services that stop after all others.
    ///   - onListening: Gets the address of the API once it accepts requests, and the console if it is served.
    /// - Throws: The error that prevents the start: the database is unavailable, not migrated or too new, or the
    ///   address is in use.
    func run(
        companions: [any Service] = [],
        onListening: @escaping @Sendable (String, Orchestrator, Console?) async throws -> Void
    ) async throws {
        let logger = Self.logger(level: configuration.logLevel, configuration.logFormat)
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        logger.info("tallyd begins", metadata: ["version": "\(ProgramVersion.current)"])
        Gauge(label: "tally_build_info", dimensions: [("version", ProgramVersion.current)]).record(1)
        DaemonMetrics.startCounters(metrics)
        var pool = configuration.pool
        pool.waited = DaemonMetrics.databaseWait(metrics)
        let database = try Database(url: configuration.databaseURL, configuration: pool, logger: logger)
        try await checkSchema(logger)
        let client = try client(on: database, logger)
        let orchestrator = Orchestrator(
            database: database,
            sender: client,
            webhooks: try WebhookTransport(
                rules: AddressRules(allowed: configuration.webhookAllowed),
                caFile: configuration.webhookCAFile
            ),
            masterKeys: configuration.masterKeys,
            settings: configuration.orchestrator,
            logger: logger
        )
        metrics.readProcess()
        DaemonMetrics.read(database, metrics)
        DaemonMetrics.read(orchestrator, metrics)
        let server = try server(of: orchestrator, metrics, onListening, logger)
        var group = ServiceGroupConfiguration(
            services: companions + [database, client] + orchestrator.services
                + [server, orchestrator.ownership, StopNotice(logger: logger)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = .seconds(30)
        try await ServiceGroup(configuration: group).run()
        logger.info("stopped")
    }

    /// Refuses a database that is not migrated or too new. Waits up to 30 s for one that is away or
    /// starts, and not for one that refuses the role.
    private func checkSchema(_ logger: Logger) async throws {
        var pool = Database.Configuration()
        pool.maximumConnections = 1
        pool.acquireTimeout = .seconds(30)
        pool.connectTimeout = .seconds(10)
        pool.endsAtRefusal = true
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

    // MARK: Parts

    private func client(on database: Database, _ logger: Logger) throws -> APNSClient {
        try APNSClient(
            endpoints: configuration.endpoints,
            caFile: configuration.apnsCAFile,
            providerTokens: SharedProviderTokens(
                database: database,
                masterKeys: configuration.masterKeys,
                logger: logger
            ),
            configuration: configuration.transport,
            logger: logger
        )
    }

    private func server(
        of orchestrator: Orchestrator,
        _ metrics: PrometheusMetrics,
        _ onListening: @escaping @Sendable (String, Orchestrator, Console?) async throws -> Void,
        _ logger: Logger
    ) throws -> HTTPServer {
        let keys = [configuration.masterKeys.current] + configuration.masterKeys.others
        let console = configuration.servesConsole ? Console(seal: try SessionSeal(masterKeys: keys)) : nil
        return HTTPServer(
            service: orchestrator,
            configuration: configuration.http,
            metrics: metrics,
            console: console,
            onListening: { address in
                switch address.purpose {
                case .phones: return logger.info("serving phones", metadata: ["address": "\(address)"])
                case .metrics:
                    return logger.info("serving metrics without a key", metadata: ["address": "\(address)"])
                case .api: break
                }
                do {
                    try await onListening(address.url, orchestrator, console)
                } catch {
                    // Nobody needs the address of a daemon that is stopping.
                    let level = Task.isCancelled ? Logger.Level.debug : .error
                    logger.log(level: level, "cannot announce the address", metadata: ["error": "\(error)"])
                }
            },
            logger: logger
        )
    }
}

/// Says in the log that the daemon begins to stop. As the last service, it is the first to stop.
private struct StopNotice: Service {
    let logger: Logger

    func run() async {
        // A daemon that fails is cancelled, and says why.
        guard (try? await gracefulShutdown()) != nil else { return }
        logger.info("stopping")
    }
}

/// Flushes standard output, so that a reader of a pipe gets the line immediately.
func flushOutput() {
    fflush(nil)
}
