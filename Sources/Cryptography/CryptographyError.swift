internal import COpenSSL

/// A cryptographic operation failed.
///
/// The description never contains key material, plaintext or ciphertext.
package struct CryptographyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case invalidKey, authenticationFailed, operationFailed
        }

        private let kind: Kind

        /// The text or bytes are not a key of the expected kind. A retry with the same input fails again.
        package static let invalidKey = Code(kind: .invalidKey)
        /// The sealed bytes, their authenticated data or the key differ from those at sealing. Nothing was decrypted.
        package static let authenticationFailed = Code(kind: .authenticationFailed)
        /// OpenSSL refused a supported operation: memory ran out, or its configuration forbids it.
        package static let operationFailed = Code(kind: .operationFailed)

        /// The name of the code.
        package var description: String { kind.rawValue }
    }

    /// The kind of failure.
    package let code: Code
    /// What was wrong, without secrets.
    package let message: String

    /// An error of `code`.
    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The message alone; it names its subject.
    package var description: String { message }

    /// The failure of `operation`, with OpenSSL's own reason. It empties OpenSSL's error queue of this thread.
    static func failed(_ operation: String) -> CryptographyError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = unsafe ERR_reason_error_string(code) else {
            return CryptographyError(code: .operationFailed, message: "\(operation) failed")
        }
        return unsafe CryptographyError(
            code: .operationFailed,
            message: "\(operation) failed: \(String(cString: reason))"
        )
    }
}
