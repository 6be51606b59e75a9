internal import COpenSSL

/// A certificate authority made on the spot and one server certificate under it, for the simulator and for tests.
///
/// The authority's key is thrown away, so nothing else can ever be signed by it.
package struct SelfSignedCertificate: Sendable {
    /// What a client trusts.
    package let caPEM: String
    /// What the server shows (the leaf alone; clients have the authority).
    package let certificatePEM: String
    /// The same of a server that has not renewed its certificate in time: it ended a day ago. The key is the same.
    package let expiredCertificatePEM: String
    /// The server's key (PKCS#8). Secret.
    package let privateKeyPEM: String

    /// Makes both, with P-256 keys, valid for `validDays` from one hour ago on.
    ///
    /// The server goes by `localhost`, `127.0.0.1`, `::1` and by `hosts`, DNS names or IP addresses; one that is
    /// neither is an error `operationFailed`.
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
            // The value goes through OpenSSL's configuration syntax, where a comma or line break would start another
            // name.
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
    /// Never the key.
    package var description: String { "SelfSignedCertificate" }

    /// Shows nothing, since one of the parts is a key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
