import APITypes
import HTTPTypes
import Registry

/// Identifies the caller by the API key or ticket.
struct Authentication: Sendable {
    let registry: any RegistryService

    /// - Throws: 401 if the key is missing or unknown, or a ticket is not good.
    func principal(_ fields: RequestFields) async throws -> Principal {
        guard let header = fields.authorization else { throw Self.refusal(challenge: "Bearer realm=\"tally\"") }
        do {
            guard let secret = Self.bearer(header), let principal = try await registry.authenticate(secret: secret)
            else {
                throw Problem.unauthorized()
            }
            return principal
        } catch let problem as Problem where problem.status == 401 {
            throw Self.refusal(problem, challenge: "Bearer realm=\"tally\", error=\"invalid_token\"")
        }
    }

    /// Looks up the caller again, because the key may have been revoked.
    func again(_ fields: RequestFields) async throws -> Principal? {
        guard let secret = fields.authorization.flatMap(Self.bearer) else { return nil }
        return try await registry.authenticate(secret: secret)
    }

    /// The token of `Bearer <token>` (RFC 6750 §2.1). The scheme is case-insensitive.
    private static func bearer(_ header: String) -> String? {
        guard header.hasPrefix("Bearer ") || header.lowercased().hasPrefix("bearer ") else { return nil }
        let space = UInt8(ascii: " ")
        let token = String(Substring(header.utf8.dropFirst("Bearer ".utf8.count).drop { $0 == space }))
        guard !token.isEmpty, !token.utf8.contains(space) else { return nil }
        return token
    }

    private static func refusal(_ problem: Problem = .unauthorized(), challenge: String) -> Refusal {
        Refusal(problem: problem, headers: [.wwwAuthenticate: challenge])
    }
}

/// A problem with extra header fields for its answer.
struct Refusal: Error {
    let problem: Problem
    let headers: HTTPFields
}
