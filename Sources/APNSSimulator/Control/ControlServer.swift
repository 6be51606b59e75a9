import APITypes
import ActivityModel
import Glibc
import HTTP1Server
import JSON
package import Logging
import NIOCore
import ServiceLifecycle

/// The control API over plain HTTP on loopback, for tests, scripts and the `apns-sim` program. It reads and writes
/// JSON.
///
/// | route | does |
/// |---|---|
/// | `GET /health` | 200 once it listens |
/// | `POST /phones` | creates phones: ``PhonesRequest`` |
/// | `GET /phones`, `GET /phones/{id}` | what phones show; for one phone, its whole history |
/// | `POST /phones/{id}/{action}` | one ``PhoneAction`` at one phone |
/// | `POST /actions` | `{actions: [PhoneAction]}` at many phones |
/// | `GET /summary` | counts |
/// | `GET/POST/DELETE /faults`, `DELETE /faults/{name}` | ``FaultRequest`` |
/// | `GET /channels` | every channel |
/// | `POST /keys`, `DELETE /keys/{key_id}` | ``KeyRequest`` |
/// | `PUT /certificate` | ``CertificateRequest``: an expired one, or the valid one again; closes all connections |
/// | `PUT /tally` | ``TallyRequest``: the Tally that apps report to |
/// | `POST /report` | JSON Lines of ``Post`` → ``ReplayReport`` |
///
/// Errors have Tally's form: problem details with pointers.
package struct ControlServer: Service, CustomStringConvertible {
    private let api: ControlAPI
    private let host: String
    private let port: Int
    private let onListening: @Sendable (String) async -> Void
    private let logger: Logger

    /// Port 0 selects a free one. `onListening` is called once with the address, such as `http://127.0.0.1:8081`.
    package init(
        api: ControlAPI,
        host: String = "127.0.0.1",
        port: Int,
        onListening: @escaping @Sendable (String) async -> Void,
        logger: Logger
    ) {
        self.api = api
        self.host = host
        self.port = port
        self.onListening = onListening
        self.logger = logger
    }

    package var description: String { "apns-sim-control" }

    /// Serves until shutdown.
    ///
    /// - Throws: ``SimulatorError/Code/notListening`` if the port cannot be bound.
    package func run() async throws {
        let connection = HTTP1Connection { [routes = ControlRoutes(api: api)] call in try await routes.answer(call) }
        let listener = HTTP1Listener(host: host, port: port, connection: connection) { port in
            await onListening("http://\(host):\(port)")
        }
        do {
            try await listener.run()
        } catch let error as IOError {
            // No other thread overwrites this text: since 2.32, glibc keeps it per thread.
            let words = String(cString: strerror(error.errnoCode))
            let detail = "cannot listen for the control API on http://\(host):\(port): \(words)"
            throw SimulatorError(.notListening, detail + "; --control-port chooses another port", cause: error)
        }
    }
}

/// `POST /actions`: actions to carry out in order.
struct ActionsRequest: APIRequest, FieldwiseValue {
    var actions: [PhoneAction]

    static let fields = Fields(
        .required("actions", \.actions, .list(of: .object(PhoneAction.self))),
        make: Self.init
    )
}
