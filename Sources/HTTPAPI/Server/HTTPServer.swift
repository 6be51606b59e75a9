import HTTP1Server
import HTTPTypes
import HummingbirdCore
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// The HTTP API as a service: routes over a ``TallyService``, with optional listeners of their own for
/// phones and for metrics.
///
/// On a graceful shutdown it accepts no more connections and finishes the open requests.
package struct HTTPServer: Service, CustomStringConvertible {
    private let service: any TallyService
    private let configuration: HTTPServerConfiguration
    private let metrics: PrometheusMetrics
    private let onListening: @Sendable (ListeningAddress) async -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - service: carries out the requests.
    ///   - configuration: addresses and limits.
    ///   - metrics: the source of `/metrics`; this server also counts its requests here.
    ///   - onListening: called once for each listener, when it accepts connections.
    ///   - logger: gets one line for each failed request, without bodies, keys or tokens.
    package init(
        service: any TallyService,
        configuration: HTTPServerConfiguration,
        metrics: PrometheusMetrics,
        onListening: @escaping @Sendable (ListeningAddress) async -> Void = { _ in },
        logger: Logger
    ) {
        self.service = service
        self.configuration = configuration
        self.metrics = metrics
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
            let routes = RouteTable([.openMetrics(metrics)], metrics: metrics)
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
        let server = LoopChannel(connection: connection(responder)).server(
            configuration: ServerConfiguration(
                address: .hostname(host, port: port),
                backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.maximumConnections)
            ),
            onServerRunning: { [onListening] channel in
                await onListening(ListeningAddress(purpose, host: host, port: channel.localAddress?.port ?? port))
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        return Listener(address: ListeningAddress(purpose, host: host, port: port), server: server)
    }

    private func connection(_ responder: Responder) -> HTTP1Connection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = configuration.maximumHeaderSize
        limits.maxHeaderListSize = configuration.maximumHeaderSize
        limits.maxHeaderFieldCount = 100
        let times = configuration.connectionTimes
        let date = DateHeader()
        return HTTP1Connection(limits: limits, handlers: { [ConnectionDeadlines(times)] }) { request, writer, channel in
            var response = try await responder.respond(
                to: request,
                proceed: { try await HTTP1Connection.proceed(on: channel) },
                hangUp: { channel.close(promise: nil) }
            )
            response.headers.append(HTTPField(name: .date, value: date.now))
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch let error as HTTPParserError {
                // Wrapped, because the server would otherwise send a second answer.
                throw BodyReadError(cause: error)
            }
        }
    }
}
