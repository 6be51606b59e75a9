package import Console
import HTTP1Server
import HTTPTypes
package import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// The HTTP API as a service: routes over a ``TallyService``, with optional listeners of their own for
/// phones and for metrics.
///
/// On a graceful shutdown it accepts no more connections and finishes the open requests.
package struct HTTPServer: Service, CustomStringConvertible {
    private let service: any TallyService
    private let configuration: HTTPServerConfiguration
    private let metrics: PrometheusMetrics
    private let console: Console?
    private let onListening: @Sendable (ListeningAddress) async -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - service: carries out the requests.
    ///   - configuration: addresses and limits.
    ///   - metrics: the source of `/metrics`; this server also counts its requests here.
    ///   - console: served at `/console`; nil: no console.
    ///   - onListening: called once for each listener, when it accepts connections.
    ///   - logger: gets one line for each failed request, without bodies, keys or tokens.
    package init(
        service: any TallyService,
        configuration: HTTPServerConfiguration,
        metrics: PrometheusMetrics,
        console: Console? = nil,
        onListening: @escaping @Sendable (ListeningAddress) async -> Void = { _ in },
        logger: Logger
    ) {
        self.service = service
        self.configuration = configuration
        self.metrics = metrics
        self.console = console
        self.onListening = onListening
        self.logger = logger
    }

    package var description: String { "http-server" }

    /// Serves until shutdown.
    ///
    /// - Throws: An error if an address cannot be bound.
    package func run() async throws {
        let drain = Drain()
        let limits = RateLimits(requestsPerSecond: configuration.requestsPerSecond)
        let routes = RouteTable.api(service: service, metrics: metrics, limits: limits, drain: drain)
        var listeners = [listener(.api, routes, limits, host: configuration.host, port: configuration.port)]
        if let address = configuration.metricsListener {
            let routes = RouteTable([.metrics(metrics, .open)], metrics: metrics)
            listeners.insert(listener(.metrics, routes, limits, host: address.host, port: address.port), at: 0)
        }
        if let address = configuration.phonesListener {
            let routes = RouteTable.phones(service: service, metrics: metrics)
            listeners.insert(listener(.phones, routes, limits, host: address.host, port: address.port), at: 0)
        }
        try await drain.run(
            ServiceGroup(configuration: .init(services: listeners, logger: logger)),
            stoppingAfter: configuration.drainDelay
        )
    }

    private func listener(
        _ purpose: ListeningAddress.Purpose,
        _ routes: RouteTable,
        _ limits: RateLimits,
        host: String,
        port: Int
    ) -> any Service {
        let responder = Responder(
            routes,
            service: service,
            maximumBodySize: configuration.maximumBodySize,
            limits: limits,
            logger: logger
        )
        let mount =
            purpose == .api ? console.map { ConsoleMount(console: $0, responder: responder, service: service) } : nil
        let server = HTTP1Listener(
            host: host,
            port: port,
            maximumConnections: configuration.maximumConnections,
            connection: connection(responder, mount)
        ) { [onListening] port in
            await onListening(ListeningAddress(purpose, host: host, port: port))
        }
        return HTTPListener(address: ListeningAddress(purpose, host: host, port: port), server: server)
    }

    private func connection(_ responder: Responder, _ mount: ConsoleMount?) -> HTTP1Connection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = configuration.maximumHeaderSize
        limits.maxHeaderListSize = configuration.maximumHeaderSize
        limits.maxHeaderFieldCount = 100
        let times = configuration.connectionTimes
        let date = DateHeader()
        return HTTP1Connection(limits: limits, handlers: { [ConnectionDeadlines(times)] }) { call in
            var answer: HTTPAnswer
            if let mount, Console.serves(call.path) {
                answer = try await mount.respond(to: call)
            } else {
                answer = try await responder.respond(to: call)
            }
            answer.headers.append(HTTPField(name: .date, value: date.now))
            return answer
        }
    }
}
