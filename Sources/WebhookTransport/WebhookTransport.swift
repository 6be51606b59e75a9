import NIOCore
package import Reactor
package import TLSEngine
import TallyClient
package import Webhooks

/// Posts to webhooks over HTTP/1.1.
///
/// It looks a name up once for each connection, checks every address, and connects to a checked one. It never follows
/// a redirect.
package struct WebhookTransport: WebhookSender {
    /// Finds the addresses of a host.
    package typealias LookUp = @Sendable (_ host: String) async throws -> [Reactor.SocketAddress]

    /// How long a request may take, with its connection.
    package static let deadline = Duration.seconds(15)
    /// How much of an answer is read. Only its status counts.
    private static let longestAnswer = 64 << 10

    private let rules: AddressRules
    private let lookUp: LookUp
    private let tls: TLSContext
    private let deadline: Duration

    /// - Parameters:
    ///   - rules: Which addresses may be reached.
    ///   - caFile: PEM certificates to trust besides the system's.
    ///   - deadline: How long a request may take.
    ///   - lookUp: Finds addresses; nil: the system does.
    /// - Throws: The error of the file with certificates.
    package init(
        rules: AddressRules,
        caFile: String? = nil,
        deadline: Duration = Self.deadline,
        lookUp: LookUp? = nil
    ) throws(TLSError) {
        self.rules = rules
        self.deadline = deadline
        self.lookUp = lookUp ?? AddressLookUp.addresses
        tls = try TLSContext.client(caFile: caFile, for: .http1)
    }

    /// Checks a file of trust roots.
    ///
    /// - Throws: The error of the file.
    package static func check(caFile: String) throws(TLSError) {
        _ = try TLSContext.client(caFile: caFile, for: .http1)
    }

    package func refusal(of url: String) -> String? {
        do throws(WebhookTarget.Refusal) {
            let target = try WebhookTarget(url)
            if !target.isSecure, rules.allowed.isEmpty { return "An https URL is expected." }
            // A name is checked each time it is looked up.
            guard let literal = SocketAddress(numeric: target.host, port: 0) else { return nil }
            if rules.allows(literal, isSecure: target.isSecure) { return nil }
            return "The address is not a public one. TALLY_WEBHOOK_ALLOW can allow others."
        } catch {
            return error.message
        }
    }

    package func endpoint(at url: String) -> any WebhookEndpoint {
        do throws(WebhookTarget.Refusal) {
            let target = try WebhookTarget(url)
            let transport = HTTPTransport(
                server: target.server,
                tls: target.isSecure ? tls : nil,
                maximumConnections: 1,
                finder: { [rules, lookUp] host, port in
                    try await Self.addresses(of: host, port, target.isSecure, rules, lookUp)
                },
                longestAnswer: Self.longestAnswer
            )
            return Endpoint(target: target.target, transport: transport, deadline: deadline)
        } catch {
            return Refused(message: error.message)
        }
    }

    /// One forbidden address refuses the whole name: its owner mixes public and internal ones.
    private static func addresses(
        of host: String,
        _ port: Int,
        _ isSecure: Bool,
        _ rules: AddressRules,
        _ lookUp: LookUp
    ) async throws -> [NIOCore.SocketAddress] {
        let found = try await lookUp(host)
        guard found.allSatisfy({ rules.allows($0, isSecure: isSecure) }) else { throw Forbidden() }
        return try found.map { try NIOCore.SocketAddress(packedIPAddress: ByteBuffer(bytes: $0.octets), port: port) }
    }

    /// An address that webhooks must not reach.
    private struct Forbidden: Error {}

    private struct Endpoint: WebhookEndpoint {
        let target: String
        let transport: HTTPTransport
        let deadline: Duration

        func post(_ body: [UInt8], headers: [(name: String, value: String)]) async -> WebhookAnswer {
            let request = HTTPRequest(
                method: "POST",
                target: target,
                headers: headers + [("Content-Type", "application/json")],
                body: body,
                timeout: deadline,
                // The receiver knows a repeat by its `webhook-id`.
                isRepeatable: true
            )
            do throws(HTTPFailure) {
                let reply = try await transport.send(request, until: .now + deadline)
                return .status(reply.status, retryAfter: reply.retryAfter.map { .seconds(min(max($0, 0), 86_400)) })
            } catch {
                return .failed(Self.words(for: error))
            }
        }

        /// Words without the address, which the reader of an event may not be allowed to know.
        private static func words(for failure: HTTPFailure) -> String {
            switch failure {
            case .notSent(let error) where error is Forbidden: "the address is not allowed"
            case .notSent: "no connection"
            case .untrusted: "the certificate is not trusted"
            case .interrupted: "the connection broke"
            case .timedOut: "no answer in time"
            case .cancelled: "cancelled"
            }
        }
    }

    /// A URL that an earlier version accepted.
    private struct Refused: WebhookEndpoint {
        let message: String

        func post(_ body: [UInt8], headers: [(name: String, value: String)]) async -> WebhookAnswer {
            .failed(message)
        }
    }
}
