import Cryptography
import JSON
import Store

/// Registration tickets as texts: the rights, and an HMAC over them, so that Tally need not store tickets.
///
/// The key is derived from the master key for this use alone; it cannot open what the master key has sealed.
struct TicketSeal: Sendable {
    /// The keys from all master keys; the first one seals.
    private let keys: Result<[[UInt8]], CryptographyError>

    init(keys masterKeys: MasterKeys) {
        keys = Result { () throws(CryptographyError) in try masterKeys.derived(for: Self.use) }
    }

    /// The prefix of every ticket, and of no API key.
    static let prefix = "tally_ticket_"

    private static let use = "tally registration ticket v1"

    func seal(_ ticket: TicketGrant) throws -> String {
        let payload = ticket.json.serialized()
        let code = HMACSHA256.authenticationCode(for: payload, key: try keys.get()[0])
        return "\(Self.prefix)\(Base64URL.encode(payload)).\(Base64URL.encode(code))"
    }

    /// The ticket, whether or not it is over; nil for a text that ``seal(_:)`` of these keys did not make.
    func open(_ text: String) throws -> TicketGrant? {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let parts = text.utf8.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, let payload = Base64URL.decode(parts[0]), let code = Base64URL.decode(parts[1]),
            try keys.get().contains(where: { HMACSHA256.isValid(code, for: payload, key: $0) })
        else { return nil }
        return TicketGrant(json: try JSONValue.parse(payload))
    }
}
