internal import COpenSSL

/// A new certificate authority with one server certificate, for the simulator and for tests.
///
/// The authority's key is discarded, so it can never sign anything else.
package struct SelfSignedCertificate: Sendable {
    /// The authority that clients trust.
    package let caPEM: String
    /// The certificate that the server presents; the leaf alone, because clients already have the authority.
    package let certificatePEM: String
    /// A certificate of the same key that expired a day ago, for a server that missed the renewal.
    package let expiredCertificatePEM: String
    /// The server's key (PKCS#8). It is secret.
    package let privateKeyPEM: String

    /// Creates both with P-256 keys. They are valid for `validDays`, beginning one hour ago.
    ///
    /// The server's names are `localhost`, `127.0.0.1`, `::1` and `hosts`, which are DNS names or IP addresses. Any
    /// other host throws `operationFailed`.
    package static func make(
        hosts: [String] = [],
        validDays: Int = 30
    ) throws(CryptographyError) -> SelfSignedCertificate {
        let authorityKey = try P256PrivateKey.generate()
        let authority = try Certificate(
            subject: "Tally local authority",
            key: authorityKey,
            days: expiredDays.lowerBound..<validDays
        )
        try authority.addExtension(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: authority)
        try authority.addExtension(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: authority)
        try authority.addExtension(NID_subject_key_identifier, "hash", issuer: authority)
        try authority.sign(by: authorityKey, issuer: authority)

        let serverKey = try P256PrivateKey.generate()
        let names = try alternativeNames(hosts)
        func leaf(_ days: Range<Int>) throws(CryptographyError) -> String {
            let server = try Certificate(subject: "localhost", key: serverKey, days: days)
            try server.addExtension(NID_basic_constraints, "critical,CA:FALSE", issuer: authority)
            try server.addExtension(NID_key_usage, "critical,digitalSignature", issuer: authority)
            try server.addExtension(NID_ext_key_usage, "serverAuth", issuer: authority)
            try server.addExtension(NID_subject_alt_name, names, issuer: authority)
            try server.addExtension(NID_subject_key_identifier, "hash", issuer: authority)
            try server.addExtension(NID_authority_key_identifier, "keyid:always", issuer: authority)
            try server.sign(by: authorityKey, issuer: authority)
            return try server.pem()
        }
        return SelfSignedCertificate(
            caPEM: try authority.pem(),
            certificatePEM: try leaf(0..<validDays),
            expiredCertificatePEM: try leaf(expiredDays),
            privateKeyPEM: try serverKey.pem()
        )
    }

    private static let expiredDays = -3 ..< -1

    private static func alternativeNames(_ hosts: [String]) throws(CryptographyError) -> String {
        var names: [String] = []
        for host in ["localhost", "127.0.0.1", "::1"] + hosts {
            // OpenSSL parses the value in its configuration syntax, so a comma or line break would start another name.
            guard host.utf8.allSatisfy({ isHostByte($0) }), !host.isEmpty else {
                throw CryptographyError(code: .operationFailed, message: "not a host name for a certificate")
            }
            let isAddress =
                host.contains(":") || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
            let name = (isAddress ? "IP:" : "DNS:") + host
            if !names.contains(name) {
                names.append(name)
            }
        }
        return names.joined(separator: ",")
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
            UInt8(ascii: "*"):
            true
        default:
            false
        }
    }
}

extension SelfSignedCertificate: CustomStringConvertible, CustomReflectable {
    /// Never shows the key.
    package var description: String { "SelfSignedCertificate" }

    /// Shows nothing, because one of the parts is a key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
