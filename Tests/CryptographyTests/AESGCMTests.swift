import Testing

@testable import Cryptography

@Suite("AES-256-GCM")
struct AESGCMTests {
    @Test(
        "sealing gives the bytes of the GCM specification's test cases 13, 14 and 16",
        arguments: [
            (
                String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "",
                "530f8afbc74536b9a963b4f1c4cb738b"
            ),
            (
                String(repeating: "00", count: 32), String(repeating: "00", count: 12),
                String(repeating: "00", count: 16), "",
                "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
            ),
            (
                "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
                "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                    + "76fc6ece0f4e1768cddf8853bb2d551b"
            ),
        ]
    )
    func vectors(key: String, nonce: String, plaintext: String, authenticated: String, expected: String) throws {
        let key = try SymmetricKey(bytes: bytes(key))
        let sealed = try AESGCM.seal(
            bytes(plaintext),
            key: key,
            authenticating: bytes(authenticated),
            nonce: bytes(nonce)
        )
        #expect(hex(sealed) == nonce + expected)
        #expect(try AESGCM.open(sealed, key: key, authenticating: bytes(authenticated)) == bytes(plaintext))
    }

    @Test("any flipped bit, other context, other key or missing byte is noticed")
    func tampering() throws {
        let key = SymmetricKey.generate()
        let context = Array("app com.example.scores".utf8)
        let sealed = try AESGCM.seal(Array("secret".utf8), key: key, authenticating: context)
        #expect(sealed.count == 6 + AESGCM.overhead)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x40
            #expect(opens(changed, key: key, context: context) == false)
        }
        #expect(opens(sealed, key: key, context: context))
        #expect(!opens(sealed, key: key, context: []))
        #expect(!opens(sealed, key: .generate(), context: context))
        #expect(!opens(Array(sealed.dropLast()), key: key, context: context))
        #expect(!opens([], key: key, context: context))
    }

    @Test("two seals of one plaintext differ")
    func freshNonce() throws {
        let key = SymmetricKey.generate()
        #expect(try AESGCM.seal([1, 2, 3], key: key) != AESGCM.seal([1, 2, 3], key: key))
    }

    @Test("a key of another size is refused by its size")
    func keySize() {
        #expect(throws: CryptographyError(code: .invalidKey, message: "a key has 32 bytes, this one has 16")) {
            try SymmetricKey(base64: "AAAAAAAAAAAAAAAAAAAAAA==")
        }
        #expect(throws: CryptographyError(code: .invalidKey, message: "the key is not base64 text")) {
            try SymmetricKey(base64: "no key")
        }
    }

    @Test("a key shows nothing of itself")
    func masked() throws {
        let key = try SymmetricKey(bytes: [UInt8](repeating: 171, count: 32))
        var dumped = ""
        dump([key], to: &dumped)
        #expect(!dumped.contains("171"))
        #expect("\(key)" == "SymmetricKey(secret)")
        #expect(!String(reflecting: Optional(key)).contains("171"))
    }

    private func opens(_ sealed: [UInt8], key: SymmetricKey, context: [UInt8]) -> Bool {
        do throws(CryptographyError) {
            _ = try AESGCM.open(sealed, key: key, authenticating: context)
            return true
        } catch {
            return error.code != .authenticationFailed
        }
    }
}
