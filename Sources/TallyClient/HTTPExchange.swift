import Foundation
import FoundationNetworking

/// One request as the transport sends it.
struct HTTPRequest: Sendable {
    var method: String
    var url: URL
    var headers: [(name: String, value: String)]
    var body: [UInt8]?
    /// How long the answer may take.
    var timeout: Duration
}

/// One answer as it came.
struct HTTPAnswer: Sendable {
    var status: Int
    /// Seconds; the form with a date is not one that Tally sends.
    var retryAfter: Int?
    var body: [UInt8]
}

/// How an exchange fails without an answer.
enum HTTPFailure: Error {
    /// The server did not get the request: no address, connection refused.
    case notSent(any Error)
    /// The server may have got it.
    case interrupted(any Error)
    case timedOut
    case cancelled
}

/// Requests over connections that are kept open, by the toolchain's own HTTP client.
final class HTTPTransport: Sendable {
    private let session: URLSession
    private let gate: RequestGate

    init(maximumConnections: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = maximumConnections
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
        gate = RequestGate(width: maximumConnections)
    }

    deinit {
        // A session is kept alive by its own delegate queue until it is told to go.
        session.finishTasksAndInvalidate()
    }

    /// Sends a request and waits for its answer, at most as long as the request says.
    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        guard await gate.enter() else { throw .cancelled }
        defer { gate.leave() }
        // The session counts whole seconds of silence and takes none for a minute, so the time is kept here.
        let result = await withTaskGroup(of: Result<HTTPAnswer, HTTPFailure>?.self) { group in
            group.addTask { await self.exchange(request) }
            group.addTask {
                // Only a cancelled sleep throws, and then the answer is there or nobody waits for it.
                try? await ContinuousClock().sleep(for: request.timeout)
                return nil
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
        guard !Task.isCancelled else { throw .cancelled }
        guard let result else { throw .timedOut }
        return try result.get()
    }

    private func exchange(_ request: HTTPRequest) async -> Result<HTTPAnswer, HTTPFailure> {
        do {
            let (data, response) = try await session.data(for: URLRequest(request))
            guard let http = response as? HTTPURLResponse else {
                return .failure(.interrupted(URLError(.badServerResponse)))
            }
            let answer = HTTPAnswer(
                status: http.statusCode,
                retryAfter: http.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
                body: [UInt8](data)
            )
            return .success(answer)
        } catch {
            return .failure(HTTPFailure(error))
        }
    }
}

extension URLRequest {
    fileprivate init(_ request: HTTPRequest) {
        // Longer than the time that is kept by the sender.
        self.init(url: request.url, timeoutInterval: (request.timeout / .seconds(1)).rounded(.up) + 1)
        httpMethod = request.method
        for header in request.headers { setValue(header.value, forHTTPHeaderField: header.name) }
        httpBody = request.body.map { Data($0) }
    }
}

extension HTTPFailure {
    fileprivate init(_ error: any Error) {
        switch error {
        case is CancellationError:
            self = .cancelled
        case let error as URLError where error.code == .cancelled:
            self = .cancelled
        case let error as URLError where error.code == .timedOut:
            self = .timedOut
        case let error as URLError where Self.beforeSending.contains(error.code):
            self = .notSent(error)
        default:
            self = .interrupted(error)
        }
    }

    private static let beforeSending: Set<URLError.Code> = [
        .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .secureConnectionFailed,
        .serverCertificateUntrusted, .unsupportedURL, .badURL,
    ]
}
