import APITypes
import ActivityModel
import Cryptography
import JSON

/// A ticket that a backend made itself: a JWT (RFC 7519) in compact form, read but not yet verified.
///
/// The name of the key is known before the signature is checked, so that the caller can look it up.
struct SignedTicket: Sendable {
    /// How far `iat` and `nbf` may lie ahead, because the backend has another clock.
    static let clockSkewSeconds: Int64 = 60

    /// `kid` of the header: which of the app's keys made the signature.
    let keyID: String
    private let algorithm: TicketAlgorithm
    private let message: [UInt8]
    private let signature: [UInt8]
    private let claims: JSONValue

    /// Whether a text may be one. No API key and no ticket of Tally's own has two periods.
    static func hasForm(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

    /// Reads the three parts.
    ///
    /// - Throws: 401 for a text that is not a JWT, or that names no key or no algorithm that Tally accepts.
    init(_ text: String) throws(Problem) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(String(parts[2]))
        else { throw .ticketRefused(.noJWT) }
        guard let algorithm = header["alg"]?.string.flatMap({ TicketAlgorithm(rawValue: $0) }) else {
            throw .ticketRefused("'alg' is not HS256 or ES256")
        }
        // RFC 7515 §4.1.11: whoever does not know a critical member refuses the whole.
        guard header["crit"] == nil else { throw .ticketRefused("Tally supports no 'crit' in the header") }
        guard let keyID = header["kid"]?.string else { throw .ticketRefused("the header names no key in 'kid'") }
        self.keyID = keyID
        self.algorithm = algorithm
        message = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
        self.claims = claims
    }

    /// Verifies the signature and all claims that hold at any time.
    ///
    /// - Throws: 401 with the reason.
    func verified(by key: TicketKey, of app: BundleID) throws(Problem) -> VerifiedTicket {
        // The key decides on the algorithm. Otherwise a public key could be used as an HMAC secret.
        guard algorithm == key.algorithm else {
            throw .ticketRefused("its key signs with \(key.algorithm.rawValue)")
        }
        guard key.isValid(signature, for: message) else { throw .ticketRefused("the signature is not valid") }
        guard names(app) else { throw .ticketRefused("'aud' is not the app of its key") }
        guard let issuedAt = seconds("iat"), let expiresAt = seconds("exp") else {
            throw .ticketRefused("'iat' and 'exp' are not both seconds")
        }
        let (life, overflow) = expiresAt.subtractingReportingOverflow(issuedAt)
        guard !overflow, life <= TicketKeyRequest.maximumTicketSeconds else {
            throw .ticketRefused("it is valid for over 90 days")
        }
        guard let environment = claims["environment"]?.string.flatMap({ APNSEnvironment(rawValue: $0) }) else {
            throw .ticketRefused("'environment' is not sandbox or production")
        }
        guard let device = claims["device_id"]?.string.flatMap({ DeviceID($0) }) else {
            throw .ticketRefused("'device_id' is not an id")
        }
        return VerifiedTicket(
            allowed: TicketGrant(
                app: app,
                environment: environment,
                device: device,
                user: try user(),
                activities: try activities(),
                topics: try topics(),
                expiresAt: expiresAt,
                issuedAt: issuedAt
            ),
            issuedAt: issuedAt,
            notBefore: try notBefore()
        )
    }

    private static func object(_ part: Substring) -> JSONValue? {
        // A part that is not JSON is no part of a ticket; the reason helps nobody.
        guard let bytes = Base64URL.decode(String(part)), let value = try? JSONValue.parse(bytes),
            case .object = value
        else { return nil }
        return value
    }
}

// MARK: Claims

extension SignedTicket {
    /// `aud` is the bundle id, or a list that contains it (RFC 7519 §4.1.3).
    private func names(_ app: BundleID) -> Bool {
        guard let audience = claims["aud"] else { return false }
        return (audience.array ?? [audience]).contains { $0.string == app.rawValue }
    }

    private func notBefore() throws(Problem) -> Timestamp? {
        if claims["nbf"] == nil { return nil }
        guard let seconds = seconds("nbf") else { throw .ticketRefused("'nbf' is not seconds") }
        return seconds
    }

    /// The whole seconds of a time. It may have a fraction (RFC 7519 §2), as JWTKit writes one.
    private func seconds(_ name: String) -> Timestamp? {
        claims[name].flatMap { $0.int64 ?? $0.double.flatMap { Int64(exactly: $0.rounded(.down)) } }
    }

    private func user() throws(Problem) -> UserID? {
        guard let subject = claims["sub"] else { return nil }
        guard let user = subject.string.flatMap({ UserID($0) }) else { throw .ticketRefused("'sub' is not an id") }
        return user
    }

    private func topics() throws(Problem) -> [TopicPattern]? {
        guard let value = claims["topics"] else { return nil }
        let patterns = value.array?.compactMap { $0.string.flatMap { TopicPattern($0) } }
        guard let patterns, patterns.count == value.array?.count,
            patterns.count <= RegistrationTicketRequest.maximumTopics
        else { throw .ticketRefused("'topics' is not a list of at most 64 topics") }
        return patterns
    }

    private func activities() throws(Problem) -> [ActivityID]? {
        guard let value = claims["activities"] else { return nil }
        let ids = value.array?.compactMap { $0.string.flatMap { ActivityID($0) } }
        guard let ids, ids.count == value.array?.count, ids.count <= RegistrationTicketRequest.maximumActivities else {
            throw .ticketRefused("'activities' is not a list of at most 64 ids")
        }
        return ids
    }
}
