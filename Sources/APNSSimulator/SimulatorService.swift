package import ActivityModel
import Cryptography
import FoundationEssentials
import HTTP2Engine
package import Logging
import Reactor
import ServiceLifecycle
import TLSEngine
import TallyClient

/// The configuration of a simulator: its addresses, its certificate file and the Tally that apps report to.
package struct SimulatorConfiguration: Sendable {
    package var settings = SimulationSettings()
    /// A numeric address; loopback by default.
    package var host = "127.0.0.1"
    /// A role without a port gets a free one.
    package var ports: [ListenerRole: UInt16] = [:]
    /// The port of the control API, 0 for a free one; nil: no control API.
    package var controlPort: Int? = 0
    /// Where to write the authority's certificate, in PEM, for `TALLY_APNS_CA_FILE`.
    package var caFile: String
    /// The Tally that apps report to, with the key; nil: none until `PUT /tally` sets it.
    package var tally: TallyRequest?
    /// The most simultaneous reports to Tally.
    package var reportWidth = 64

    /// Chooses a random seed, so that two runs have different tokens. Real tokens never repeat.
    package init(caFile: String) {
        self.caFile = caFile
        settings.seed = .random(in: .min ... .max)
    }
}

/// The addresses of a running simulator.
package struct SimulatorAddresses: Sendable {
    /// Numeric. The certificate contains it as a name.
    package let host: String
    package let ports: [ListenerRole: UInt16]
    package let caFile: String

    /// `https://host:port` for `TALLY_APNS_…_URL`; empty for a role that does not exist.
    package func url(_ environment: APNSEnvironment, _ api: AppleAPI) -> String {
        ports[ListenerRole(environment, api)].map { "https://\(host):\($0)" } ?? ""
    }
}

/// The whole simulator as one service: listeners, phones, their reports, and the control API.
///
/// Call ``start()`` before the service group runs if you need the addresses first.
package final class SimulatorService: Service, CustomStringConvertible {
    package let configuration: SimulatorConfiguration
    package let simulation: Simulation
    package let desk: ReportDesk
    /// The control API for users in the same process.
    package let control: ControlAPI
    private let loop: EventLoop
    private let logger: Logger
    private let onControlListening: @Sendable (String, SimulatorAddresses) async -> Void
    private let started: StartedServer

    /// Creates the phones' world and starts its thread. It does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: Ports, files, limits.
    ///   - logger: Logs failed reports.
    ///   - onControlListening: Called once when everything listens, with the address of the control API and the other
    ///     addresses.
    /// - Throws: An error if the system cannot start a thread or Tally's address is invalid.
    package init(
        configuration: SimulatorConfiguration,
        logger: Logger,
        onControlListening: @escaping @Sendable (String, SimulatorAddresses) async -> Void = { _, _ in }
    ) throws {
        let loop = try EventLoop(name: "apns-sim")
        let desk = ReportDesk(loop: loop, width: configuration.reportWidth, logger: logger)
        self.configuration = configuration
        self.loop = loop
        self.desk = desk
        self.logger = logger
        self.onControlListening = onControlListening
        simulation = Simulation(settings: configuration.settings, now: { .now }) { followUp, simulation in
            switch followUp {
            case .report(let phone, let report):
                desk.submit(report, of: phone)
            case .warn(let form):
                logger.warning(
                    "a provider token was taken that Apple may refuse",
                    metadata: ["why": "\(form.rawValue)"]
                )
            case .awaitToken(let phone, let card, let milliseconds):
                loop.execute {
                    loop.schedule(after: .milliseconds(milliseconds)) {
                        simulation.tokenReady(phone: phone, card: card)
                    }
                }
            }
        }
        let started = StartedServer()
        self.started = started
        control = ControlAPI(simulation: simulation, desk: desk) { await started.show(expired: $0) }
        if let tally = configuration.tally {
            try control.connect(tally)
        }
    }

    package var description: String { "apns-sim" }

    /// Writes the authority's certificate and starts to listen. Only the first call does so; every call returns the
    /// same addresses.
    ///
    /// - Throws: An error if a port is in use or the file cannot be written.
    @discardableResult
    package func start() async throws -> SimulatorAddresses {
        if let addresses = started.addresses { return addresses }
        let certificate = try SelfSignedCertificate.make(hosts: [configuration.host])
        try Data(certificate.caPEM.utf8).write(to: URL(filePath: configuration.caFile), options: .atomic)
        let (context, expired) = try certificate.contexts()
        let result = try await loop.perform { [loop, simulation, configuration] in
            Result { () throws(HTTP2Error) in
                let listeners = try AppleListeners(
                    loop: loop,
                    simulation: simulation,
                    context: context,
                    host: configuration.host,
                    ports: configuration.ports
                )
                return (LoopBound(listeners, to: loop), listeners.ports)
            }
        }
        let (listeners, ports) = try result.get()
        let addresses = SimulatorAddresses(host: configuration.host, ports: ports, caFile: configuration.caFile)
        started.begin(listeners, at: addresses, showing: context, or: expired)
        return addresses
    }

    /// Runs until shutdown. Then it closes the listeners and connections, and the phones are lost.
    package func run() async throws {
        let addresses = try await start()
        var services: [any Service] = [desk]
        if let port = configuration.controlPort {
            services.append(
                ControlServer(
                    api: control,
                    host: configuration.host,
                    port: port,
                    onListening: { [onControlListening] url in await onControlListening(url, addresses) },
                    logger: logger
                )
            )
        }
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: logger))
        let result: Result<Void, any Error>
        do {
            result = .success(try await group.run())
        } catch {
            result = .failure(error)
        }
        await stop()
        try result.get()
    }

    private func stop() async {
        started.close()
        await loop.shutDown()
    }
}

extension ClockReading {
    package static var now: ClockReading {
        ClockReading(
            milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)),
            uptimeNanoseconds: Int64(start.duration(to: .now) / .nanoseconds(1))
        )
    }

    private static let start = ContinuousClock.now
}

extension SimulatorAddresses {
    /// The same for a role.
    package func url(_ role: ListenerRole) -> String { url(role.environment, role.api) }

    /// The settings that connect Tally to this simulator, as lines of `NAME=value`.
    package var environmentLines: [String] {
        let urls = ListenerRole.all.map { role in
            let names = "\(role.environment.rawValue)_\(role.api.rawValue)".uppercased()
            return "TALLY_APNS_\(names)_URL=\(url(role))"
        }
        return ["TALLY_APNS_CA_FILE=\(caFile)"] + urls
    }
}
