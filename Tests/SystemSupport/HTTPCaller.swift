import Foundation
import FoundationNetworking
package import JSON
import TestSupport

/// Sends requests as they are, right or wrong, and hands back what is answered.
package struct HTTPCaller: Sendable {
    /// One answer.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [String: String]
        package let body: [UInt8]

        /// The body, null where it is empty or no JSON.
        package var json: JSONValue {
            // A body that is no JSON fails whatever is expected of it.
            (try? JSONValue.parse(body)) ?? .null
        }

        /// A header, whatever the case of its name.
        package subscript(header name: String) -> String? {
            headers.first { $0.key.lowercased() == name.lowercased() }?.value
        }
    }

    package let base: String
    /// Sent as bearer token; nil: no header.
    package var key: String?

    package init(base: String, key: String? = nil) {
        self.base = base
        self.key = key
    }

    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        configuration.httpMaximumConnectionsPerHost = 64
        return URLSession(configuration: configuration)
    }()

    /// Sends a request once. `headers` go before the ones that are made here.
    package func send(
        _ method: String,
        _ path: String,
        _ body: [UInt8]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        guard let url = URL(string: base + path) else { throw Failure("\(base + path) is no URL") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let key { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.httpBody = Data(body)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try await Self.session.data(for: request)
        } catch {
            throw Failure("\(method) \(base)\(path): \(error)")
        }
        guard let response = response as? HTTPURLResponse else { throw Failure("\(path) was not answered by HTTP") }
        var answered: [String: String] = [:]
        for case (let name as String, let value as String) in response.allHeaderFields { answered[name] = value }
        return Answer(status: response.statusCode, headers: answered, body: [UInt8](data))
    }

    /// Sends JSON, and reads JSON.
    ///
    /// - Throws: ``Failure`` for any status but 2xx.
    @discardableResult
    package func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let answer = try await send(method, path, body?.serialized())
        guard (200..<300).contains(answer.status) else {
            throw Failure("\(method) \(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return answer.json
    }
}
