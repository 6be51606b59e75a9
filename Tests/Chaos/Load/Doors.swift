import APITypes
import Synchronization
import SystemSupport
import TallyClient
import TestSupport

/// The daemons as a backend sees them behind a load balancer: whoever does not answer is passed over for the next.
final class Doors: Sendable {
    private let clients: [TallyClient]
    private let next = Atomic<Int>(0)

    /// A change that is not answered within so long is given up.
    private static let patience = Duration.seconds(300)

    init(_ daemons: [DaemonProcess]) throws {
        clients = try daemons.map { daemon in
            let configuration = TallyClient.Configuration(
                url: daemon.url,
                key: TallySystem.adminKey,
                maximumConnections: 16,
                requestTimeout: .seconds(8),
                deadline: .seconds(9)
            )
            return try TallyClient(configuration)
        }
    }

    /// Makes a call that may be made again, until it is answered.
    ///
    /// - Throws: ``Failure`` when it is refused for good, or has not been answered in minutes.
    func call<Answer: Sendable>(
        _ what: String,
        _ body: (TallyClient) async throws(ClientError) -> Answer
    ) async throws -> Answer {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            let number = next.add(1, ordering: .relaxed).newValue
            do {
                return try await body(clients[number % clients.count])
            } catch {
                let status = error.problem?.status ?? 503
                guard
                    status >= 500 || status == 429 || status == 409 && error.problem?.code == "idempotency_in_progress"
                else { throw Failure("\(what) was refused: \(error)") }
                guard ContinuousClock.now < deadline else {
                    throw Failure("promise 1 is broken: \(what) was not answered within \(Self.patience): \(error)")
                }
                try Task.checkCancellation()
                await pause(.milliseconds(100))
            }
        }
    }
}
