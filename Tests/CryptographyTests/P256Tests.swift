import Cryptography
import Testing

@Suite("Keys on P-256")
struct P256Tests {
    /// The public key of RFC 6979 A.2.5.
    private static let rfc6979 = pem(
        "PUBLIC KEY",
        Base64.encode(
            bytes("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
                + bytes("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6")
                + bytes("7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
        )
    )
    private static let rfc6979Signature =
        bytes("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716")
        + bytes("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8")

    @Test("the signature of RFC 6979 A.2.5 is valid, and only for its message")
    func knownSignature() throws {
        let key = try P256PublicKey(pem: Self.rfc6979)
        #expect(key.isValidSignature(Self.rfc6979Signature, for: Array("sample".utf8)))
        #expect(!key.isValidSignature(Self.rfc6979Signature, for: Array("simple".utf8)))
    }

    @Test("the same private key signs what its public half accepts")
    func knownPrivateKey() throws {
        let key = try P256PrivateKey(
            pem: pem(
                "PRIVATE KEY",
                Base64.encode(
                    bytes("3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")
                        + bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721")
                )
            )
        )
        let message = Array("sample".utf8)
        let signature = try key.signature(for: message)
        #expect(signature.count == 64)
        #expect(try P256PublicKey(pem: Self.rfc6979).isValidSignature(signature, for: message))
        #expect(key.publicKey.isValidSignature(Self.rfc6979Signature, for: message))
    }

    @Test("malformed signatures are just not valid", arguments: [0, 63, 64, 65])
    func malformed(count: Int) throws {
        let key = try P256PublicKey(pem: Self.rfc6979)
        #expect(!key.isValidSignature([UInt8](repeating: 0, count: count), for: Array("sample".utf8)))
        #expect(!key.isValidSignature([UInt8](repeating: 0xff, count: count), for: Array("sample".utf8)))
    }

    @Test("many signatures keep 64 bytes, whatever leading zeros R and S have")
    func paddedScalars() throws {
        let key = try P256PrivateKey.generate()
        // One in 128 has a short R or S, which DER shortens.
        for round in 0..<600 {
            let message = Array("message \(round)".utf8)
            let signature = try key.signature(for: message)
            #expect(signature.count == 64)
            #expect(key.publicKey.isValidSignature(signature, for: message))
        }
    }

    @Test("a key comes back from its PEM text, in PKCS#8")
    func roundTrip() throws {
        let key = try P256PrivateKey.generate()
        let text = try key.pem()
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let again = try P256PrivateKey(pem: text)
        let message = Array("hello".utf8)
        #expect(key.publicKey.isValidSignature(try again.signature(for: message), for: message))
        #expect(
            try P256PublicKey(pem: key.publicKey.pem()).isValidSignature(try key.signature(for: message), for: message)
        )
        #expect(again == key)
        #expect(try P256PrivateKey.generate() != key)
    }

    @Test("SEC 1 text and Windows line ends are read")
    func otherForms() throws {
        let sec1 =
            pem("EC PARAMETERS", "BggqhkjOPQMBBw==")
            + pem(
                "EC PRIVATE KEY",
                """
                MHcCAQEEIKR54Xm1wXTQocGWkbSpe3q/w+IXqPP+H4u0r5R3LCYfoAoGCCqGSM49
                AwEHoUQDQgAEb8wbA6KOQ9fewzoSyJhJ/EdryOFpRKmwVZ/Z6Z/WcZTULSVjGugB
                39W/6qy+FA/wqz4OqyobJ260EcKBGgq6Cg==
                """
            )
        #expect(throws: Never.self) { try P256PrivateKey(pem: sec1) }
        let windows = try P256PrivateKey.generate().pem().split(separator: "\n").joined(separator: "\r\n")
        #expect(throws: Never.self) { try P256PrivateKey(pem: windows) }
    }

    @Test("what is not a P-256 private key is refused by name", arguments: refusals)
    func refused(text: String, message: String) {
        #expect(throws: CryptographyError(code: .invalidKey, message: message)) { try P256PrivateKey(pem: text) }
    }

    private static let refusals: [(String, String)] = [
        ("", "the private key is not PEM text"),
        ("AuthKey_ABC123DEFG.p8", "the private key is not PEM text"),
        (rfc6979, "expected a private key in PEM, found PUBLIC KEY"),
        (pem("CERTIFICATE", "AAAA"), "expected a private key in PEM, found CERTIFICATE"),
        (pem("ENCRYPTED PRIVATE KEY", "AAAA"), "expected a private key in PEM, found ENCRYPTED PRIVATE KEY"),
        (pem("PRIVATE KEY", "AAAA"), "the private key is damaged"),
        (
            pem("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEIKyYjG0vwzUn0/ViE6tmkz4ksj8zPfNx/hLqNEfHpsUs"),
            "the private key is ED25519 of 256 bits, not P-256"
        ),
        (
            pem(
                "PRIVATE KEY",
                """
                MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBbRnR1sTPZXNijFFMl
                EDjHMtYCz4qX74OMOtm0OM18Fp6/FspYZfF6MHbKZ4nnGYihZANiAATIMXzqg+Nh
                wGoisiR4Qmb7FK9xNArDLFL9cLsvBxo/etoMjJKZ/0fPc3UY1iAqWkB9nuo8P4HZ
                hy1pGXhUBBTzcy4dXMQ0saDNM86f7NplHmJqtddqNrwDLN1F6A1YKjE=
                """
            ),
            "the private key is EC on secp384r1, not P-256"
        ),
        (
            pem(
                "PRIVATE KEY",
                """
                MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAJY2p8Vd/KQaTjbR
                Sjwd/ps7YZ70YxX5eoe3ZAyaG6p80O//ySZ6PV6zRPQQpHDCZ16UmgqiC5NxVnXz
                vbQ6gd/WNGF0iCrX+ti6DczGeXaviYw1GAgE87iNwzdahNijvSnzdWHes76rtdiz
                7Ee0Ko2KPA1S4TQciEfLXBUAgUyvAgMBAAECgYAxdSlkGH/4YBjkf6Bbjtynq7OG
                rJx7PbsUOFOeupblWVdJzgQiwRi3t3q6iUg7QCbcwzy8x4HcN/Lpvyj00Fa2JSSu
                RjLYB0Ym9IfD28spKA63p9PbeLBBiYKUDjuSSDS8MTefi5T4lWuVUXmn5N1kvRjj
                F2ciEsnT9US6BpvpgQJBAMUAK7V54PRTjYLWoGiQBka0aOesV19C6Li4RXwUxe70
                XIJVSBrmNqbR9d3OcWqPdfcEkW7iT/65wsNEd5HRCiECQQDDM1zW45l4nWuYnCF7
                IeyD+o9mb4S+g2TeprMfbs8z+jkSdBCFOfEnFH7n4I4yMeMtmD50qW3z22Ug2yQY
                jpzPAkBT49K5IQGOidYFFWiRnmNN0J2rqlQ6mL+Jic7tG9t9+kk6px5hdg9n0pkk
                rzjU6+qMGkHkOjNegbRSeuGAEsiBAkEArt9c1MahvwSIV/fHpuAFW1clEMfnTCW6
                QB1na0mCJzaL2pRQGIqIGFKsPl9WBHHc7APwL+N5tXVfa8fm1nks0QJBAJ04tCc+
                Lr/hp25o3Abyzg/ynjh8AEPA2j2EtwcGqsaWE0jj3EMcrKga92dv0PGyoz7Ogbhe
                saIWasxOvxmK8lY=
                """
            ),
            "the private key is RSA of 1024 bits, not P-256"
        ),
    ]

    @Test("keys show nothing of themselves")
    func masked() throws {
        let key = try P256PrivateKey.generate()
        var dumped = ""
        dump([key], to: &dumped)
        dump(key.publicKey, to: &dumped)
        #expect(!dumped.contains("PKey"))
        #expect("\(key)" == "P256PrivateKey(secret)")
    }

    @Test("one key signs on many tasks at once")
    func concurrentSignatures() async throws {
        let key = try P256PrivateKey.generate()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let message = Array("\(task) \(round)".utf8)
                        guard key.publicKey.isValidSignature(try key.signature(for: message), for: message) else {
                            return false
                        }
                    }
                    return true
                }
            }
            for try await valid in group {
                #expect(valid)
            }
        }
    }
}

/// PEM text of base64 `body`, put together here so that no key material stands in the repository under its usual label.
private func pem(_ label: String, _ body: String) -> String {
    "-----BEGIN \(label)-----\n" + body + "\n-----END \(label)-----\n"
}
