import APITypes
import Foundation
import JSON

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Talks to the control API of a running simulator. For programs: plain values in, and text or a report out.
package struct ControlClient: Sendable {
    private let base: String
    private let session: URLSession

    /// - Parameter url: Such as `http://127.0.0.1:8081`; connects to nothing yet.
    package init(url: String) {
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        session = URLSession(configuration: configuration)
    }

    /// Sends JSON, or nothing, and reads JSON; null for an empty answer.
    func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws(SimulatorError) -> JSONValue {
        try await send(method, path, bytes: body?.serialized())
    }

    func send(_ method: String, _ path: String, bytes: [UInt8]?) async throws(SimulatorError) -> JSONValue {
        guard let url = URL(string: base + path), url.host != nil else {
            throw SimulatorError(.unreachable, "'\(base)' is not an address like http://127.0.0.1:8081")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let bytes {
            request.httpBody = Data(bytes)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let answer: Data
        let status: Int
        do {
            let (data, response) = try await session.data(for: request)
            answer = data
            status = (response as? HTTPURLResponse)?.statusCode ?? 0
        } catch {
            throw SimulatorError(.unreachable, "no simulator answers at \(base)", cause: error)
        }
        if answer.isEmpty, (200..<300).contains(status) { return .null }
        let json: JSONValue
        do {
            json = try JSONValue.parse([UInt8](answer))
        } catch {
            throw SimulatorError(.badAnswer, "what answers at \(base) is no simulator (status \(status))", cause: error)
        }
        guard (200..<300).contains(status) else { throw refusal(json, status: status) }
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
