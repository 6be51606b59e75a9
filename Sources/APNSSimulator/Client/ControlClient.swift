import APITypes
import Foundation
import JSON
import TallyClient

/// A client of a running simulator's control API. Programs pass plain values and get text or a report.
package struct ControlClient: Sendable {
    /// The address, without a slash at its end.
    let base: String
    /// Nil if ``base`` is not a valid address.
    private let transport: HTTPTransport?

    /// The timeout of a request. Creating a million phones takes a while.
    private static let timeout = Duration.seconds(60)

    /// - Parameter url: Such as `http://127.0.0.1:8081`. The first request connects.
    package init(url: String) {
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        transport = ServerAddress(base).flatMap { server in
            // Only TLS can make this throw, and the control API has none.
            try? HTTPTransport(server: server, caFile: nil, maximumConnections: 4)
        }
    }

    /// Sends an optional JSON body and returns the JSON answer; null if the answer is empty.
    func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws(SimulatorError) -> JSONValue {
        try await send(method, path, bytes: body?.serialized())
    }

    func send(_ method: String, _ path: String, bytes: [UInt8]?) async throws(SimulatorError) -> JSONValue {
        guard let transport, let target = URL(string: path)?.relativeString else {
            throw SimulatorError(.unreachable, "'\(base)' is not an address like http://127.0.0.1:8081")
        }
        let request = HTTPRequest(
            method: method,
            target: target,
            headers: bytes == nil ? [] : [("Content-Type", "application/json")],
            body: bytes,
            timeout: Self.timeout,
            // Repeating a POST could create faults or phones twice.
            isRepeatable: method == "GET"
        )
        let answer: HTTPReply
        do {
            answer = try await transport.send(request, until: .now + Self.timeout)
        } catch {
            throw SimulatorError(.unreachable, "no simulator answers at \(base)", cause: error)
        }
        if answer.body.isEmpty, answer.isSuccess { return .null }
        let json: JSONValue
        do {
            json = try JSONValue.parse(answer.body)
        } catch {
            throw SimulatorError(
                .badAnswer,
                "the server at \(base) is not a simulator (status \(answer.status))",
                cause: error
            )
        }
        guard answer.isSuccess else { throw refusal(json, status: answer.status) }
        return json
    }

    private func refusal(_ json: JSONValue, status: Int) -> SimulatorError {
        // Without a problem in the body, reports only the status.
        guard let problem = try? Problem(json: json) else {
            return SimulatorError(.refused, "the simulator answered \(status)")
        }
        let places = problem.errors.map { "\n  \($0.pointer): \($0.message)" }.joined()
        return SimulatorError(.refused, problem.detail + places)
    }
}
