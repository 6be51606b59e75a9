import APITypes
import ActivityModel
import Cryptography
import JSON

/// A ticket that a backend made itself: a JWT (RFC 7519) in compact form, read but not yet verified.
///
/// The name of the key is known before the signature is checked, so that the caller can look it up.
struct SignedTicket: Sendable {
    /// The longest life, from `iat` to `exp`: 90 days.
    static let maximumSeconds: Int64 = 90 * 86_400
    /// How far `iat` and `nbf` may lie ahead, because the backend has another clock.
    static let clockSkewSeconds: Int64 = 60

    /// `kid` of the header: which of the app's keys made the signature.
    let keyID: String
    private let algorithm: String
    private let message: [UInt8]
    private let signature: [UInt8]
    private let claims: JSONValue

    /// Reads the three parts.
    ///
    /// - Throws: 401 for a text that is not a JWT, or that names no key or no algorithm that Tally accepts.
    init(_ text: String) throws(Problem) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(String(parts[2]))
        else { throw .ticketRefused("it is not a JWT of three parts") }
        guard let algorithm = header["alg"]?.string, TicketKey.algorithms.contains(algorithm) else {
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

    /// Verifies the signature and the claims, and returns what the ticket allows. `now` is the time of the database in
    /// UNIX seconds.
    ///
    /// - Throws: 401 with the reason.
    func verified(by key: TicketKey, of app: BundleID, at now: Timestamp) throws(Problem) -> RegistrationTicket {
        // The key decides on the algorithm. Otherwise a public key could be used as an HMAC secret.
        guard algorithm == key.algorithm else { throw .ticketRefused("its key signs with \(key.algorithm)") }
        guard key.isValid(signature, for: message) else { throw .ticketRefused("the signature is not valid") }
        guard names(app) else { throw .ticketRefused("'aud' is not the app of its key") }
        let expiresAt = try checkTimes(at: now)
        guard let environment = claims["environment"]?.string.flatMap({ APNSEnvironment(rawValue: $0) }) else {
            throw .ticketRefused("'environment' is not sandbox or production")
        }
        guard let device = claims["device_id"]?.string.flatMap({ DeviceID($0) }) else {
            throw .ticketRefused("'device_id' is not an id")
        }
        return RegistrationTicket(
            app: app,
            environment: environment,
            device: device,
            user: try user(),
            activities: try activities(),
            expiresAt: expiresAt
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

    private func checkTimes(at now: Timestamp) throws(Problem) -> Timestamp {
        guard let issuedAt = claims["iat"]?.int64, let expiresAt = claims["exp"]?.int64 else {
            throw .ticketRefused("'iat' and 'exp' are not whole seconds")
        }
        guard now < expiresAt else { throw .ticketRefused("it has expired") }
        guard issuedAt <= now + Self.clockSkewSeconds else { throw .ticketRefused("'iat' is in the future") }
        let (life, overflow) = expiresAt.subtractingReportingOverflow(issuedAt)
        guard !overflow, life <= Self.maximumSeconds else { throw .ticketRefused("it is valid for over 90 days") }
        if let notBefore = claims["nbf"] {
            guard let seconds = notBefore.int64, seconds <= now + Self.clockSkewSeconds else {
                throw .ticketRefused("it is not valid before 'nbf'")
            }
        }
        return expiresAt
    }

    private func user() throws(Problem) -> UserID? {
        guard let subject = claims["sub"] else { return nil }
        guard let user = subject.string.flatMap({ UserID($0) }) else { throw .ticketRefused("'sub' is not an id") }
        return user
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

extension Problem {
    /// 401 with the reason. A reason quotes nothing from the ticket.
    fileprivate static func ticketRefused(_ reason: String) -> Problem {
        .unauthorized("The ticket is not valid: \(reason).")
    }
}
