import APITypes
package import Cryptography
import JSON

/// A person who signed in with an API key.
struct ConsoleSession: Sendable, Hashable {
    /// Random, new with every sign-in.
    let id: String
    /// The API key.
    let secret: String
    let expiresAt: Instant

    /// How long a session lasts.
    static let lifetimeSeconds: Int64 = 12 * 3600
}

/// Seals sessions and one-time links. Every daemon with the same master key can open them, so no daemon stores them.
package struct SessionSeal: Sendable {
    /// The first seals; all open.
    private let keys: [SymmetricKey]

    /// Derives its keys from the master keys, the current one first.
    package init(masterKeys: [SymmetricKey]) throws(CryptographyError) {
        var keys: [SymmetricKey] = []
        for key in masterKeys {
            let bytes = try HKDFSHA256.derive(
                from: key.secretBytes(),
                info: Array("tally console sessions".utf8),
                count: SymmetricKey.byteCount
            )
            keys.append(try SymmetricKey(bytes: bytes))
        }
        self.keys = keys
    }

    /// The use of a sealed text. One kind never opens as another.
    enum Purpose: String {
        case session
        case link
    }

    func seal(_ session: ConsoleSession, for purpose: Purpose) throws(CryptographyError) -> String {
        let value: JSONValue = [
            "id": .string(session.id), "key": .string(session.secret),
            "expires_at": .number(JSONNumber(session.expiresAt.unixSeconds)),
        ]
        let context = Array(purpose.rawValue.utf8)
        return Base64URL.encode(try AESGCM.seal(value.serialized(), key: keys[0], authenticating: context))
    }

    /// Nil if this text was not sealed here, was changed, or has expired.
    func open(_ text: String, for purpose: Purpose, now: Instant) -> ConsoleSession? {
        guard let sealed = Base64URL.decode(text) else { return nil }
        let context = Array(purpose.rawValue.utf8)
        for key in keys {
            // A text that does not open is nobody's session; why is of no interest.
            guard let bytes = try? AESGCM.open(sealed, key: key, authenticating: context),
                let value = try? JSONValue.parse(bytes), let object = value.object,
                let id = object["id"]?.string, let secret = object["key"]?.string,
                let seconds = object["expires_at"]?.int64
            else { continue }
            let session = ConsoleSession(id: id, secret: secret, expiresAt: Instant(unixSeconds: seconds))
            return now < session.expiresAt ? session : nil
        }
        return nil
    }

    /// The token that every form of this session or visitor carries.
    func formToken(for id: String) -> String { code(of: "form \(id)") }

    func isFormToken(_ token: String, for id: String) -> Bool { isCode(token, of: "form \(id)") }

    /// A cookie for a visitor without a session: random, and nobody else can make one.
    func visitor() -> String {
        let id = Base64URL.encode(SecureRandom.bytes(16))
        return id + "." + code(of: "visitor \(id)")
    }

    func isVisitor(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && isCode(String(parts[1]), of: "visitor \(parts[0])")
    }

    private func code(of message: String) -> String {
        Base64URL.encode(HMACSHA256.authenticationCode(for: Array(message.utf8), key: keys[0].secretBytes()))
    }

    private func isCode(_ text: String, of message: String) -> Bool {
        guard let code = Base64URL.decode(text) else { return false }
        let bytes = Array(message.utf8)
        return keys.contains { HMACSHA256.isValid(code, for: bytes, key: $0.secretBytes()) }
    }
}
