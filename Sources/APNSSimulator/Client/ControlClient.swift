import APITypes
import Foundation
import JSON
import TallyClient

/// Talks to the control API of a running simulator. For programs: plain values in, and text or a report out.
package struct ControlClient: Sendable {
    /// Without a slash at its end.
    let base: String
    /// Nil if ``base`` is no address.
    private let transport: HTTPTransport?

    /// How long an answer may take: a million phones are not made at once.
    private static let timeout = Duration.seconds(60)

    /// - Parameter url: Such as `http://127.0.0.1:8081`; connects to nothing yet.
    package init(url: String) {
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        transport = ServerAddress(base).flatMap { server in
            // The control API has no TLS; without it nothing is thrown.
            try? HTTPTransport(server: server, caFile: nil, maximumConnections: 4)
        }
    }

    /// Sends JSON, or nothing, and reads JSON; null for an empty answer.
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
            // Faults and phones are not made twice.
            isRepeatable: method == "GET"
        )
        let answer: HTTPAnswer
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
                "what answers at \(base) is no simulator (status \(answer.status))",
                cause: error
            )
        }
        guard answer.isSuccess else { throw refusal(json, status: answer.status) }
        return json
    }

    private func refusal(_ json: JSONValue, status: Int) -> SimulatorError {
        // An answer that is no problem is told by its status.
        guard let problem = try? Problem(json: json) else {
            return SimulatorError(.refused, "the simulator answered \(status)")
        }
        let places = problem.errors.map { "\n  \($0.pointer): \($0.message)" }.joined()
        return SimulatorError(.refused, problem.detail + places)
    }
}
