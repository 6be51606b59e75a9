/// A key of 256 bits for ``AESGCM``.
///
/// Its description and its mirror do not show the bytes.
package struct SymmetricKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The number of bytes of a key.
    package static let byteCount = 32

    let bytes: [UInt8]

    /// A key of exactly 32 bytes. Any other number throws `invalidKey`, which reports the number.
    package init(bytes: [UInt8]) throws(CryptographyError) {
        guard bytes.count == Self.byteCount else {
            throw CryptographyError(code: .invalidKey, message: "a key has 32 bytes, this one has \(bytes.count)")
        }
        self.bytes = bytes
    }

    /// A key from the base64 text of 32 bytes.
    package init(base64: String) throws(CryptographyError) {
        guard let bytes = Base64.decode(base64) else {
            throw CryptographyError(code: .invalidKey, message: "the key is not base64 text")
        }
        try self.init(bytes: bytes)
    }

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Generates a random key.
    package static func generate() -> SymmetricKey {
        SymmetricKey(unchecked: SecureRandom.bytes(byteCount))
    }

    /// The 32 bytes, for storing or deriving. They are secret.
    package func secretBytes() -> [UInt8] {
        bytes
    }

    /// Whether both are the same key, in constant time.
    package static func == (left: SymmetricKey, right: SymmetricKey) -> Bool {
        ConstantTime.equal(left.bytes, right.bytes)
    }

    /// Never shows the bytes.
    package var description: String { "SymmetricKey(secret)" }

    /// Shows nothing, so that `dump` and interpolation of an enclosing value stay safe.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
