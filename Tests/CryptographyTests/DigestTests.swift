import Cryptography
import Testing

@Suite("Digests and derived keys")
struct DigestTests {
    @Test(
        "SHA-256 gives the digests of FIPS 180-4's examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func sha256(text: String, expected: String) {
        #expect(hex(SHA256.hash(text)) == expected)
    }

    @Test(
        "HMAC-SHA-256 gives the codes of RFC 4231",
        arguments: [
            (
                [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            // Not of the RFC: an empty key, which C could take for "the key of the call before".
            ([], [], "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ] as [([UInt8], [UInt8], String)]
    )
    func hmac(key: [UInt8], message: [UInt8], expected: String) {
        let code = HMACSHA256.authenticationCode(for: message, key: key)
        #expect(hex(code) == expected)
        #expect(HMACSHA256.isValid(code, for: message, key: key))
        #expect(!HMACSHA256.isValid(code, for: message + [0], key: key))
    }

    @Test("HKDF gives the keys of RFC 5869, A.1 to A.3")
    func hkdf() throws {
        let first = try HKDFSHA256.derive(
            from: [UInt8](repeating: 0x0b, count: 22),
            salt: Array(0x00...0x0c),
            info: Array(0xf0...0xf9),
            count: 42
        )
        #expect(hex(first) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        let second = try HKDFSHA256.derive(
            from: Array(0x00...0x4f),
            salt: Array(0x60...0xaf),
            info: Array(0xb0...0xff),
            count: 82
        )
        #expect(
            hex(second) == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
                + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        )
        let third = try HKDFSHA256.derive(from: [UInt8](repeating: 0x0b, count: 22), info: [], count: 42)
        #expect(hex(third) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
        #expect(try HKDFSHA256.derive(from: [1], info: [], count: HKDFSHA256.maximumByteCount).count == 8160)
        #expect(throws: CryptographyError.self) {
            try HKDFSHA256.derive(from: [1], info: [], count: HKDFSHA256.maximumByteCount + 1)
        }
    }

    @Test("comparison in constant time compares")
    func constantTime() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2]))
    }

    @Test("random bytes come in the wanted number and do not repeat")
    func random() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(33).count == 33)
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    }
}
