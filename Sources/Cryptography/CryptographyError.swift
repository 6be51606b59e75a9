internal import COpenSSL

/// What went wrong in a cryptographic operation.
///
/// The description never holds key material, plaintext or ciphertext.
package struct CryptographyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case invalidKey, authenticationFailed, operationFailed
        }

        private let kind: Kind

        /// The key text or bytes are not a key of the wanted kind. Nothing was done; trying again is useless.
        package static let invalidKey = Code(kind: .invalidKey)
        /// Sealed bytes, their authenticated data or the key are not those that were sealed. Nothing was decrypted.
        package static let authenticationFailed = Code(kind: .authenticationFailed)
        /// OpenSSL refused an operation that it supports, for want of memory or by its configuration.
        package static let operationFailed = Code(kind: .operationFailed)

        /// The name of the code.
        package var description: String { kind.rawValue }
    }

    /// The kind of failure.
    package let code: Code
    /// What was wrong, in words, without secrets.
    package let message: String

    /// An error of `code`.
    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The message alone: it names what it is about.
    package var description: String { message }

    /// The failure of `operation`, with OpenSSL's own reason; empties OpenSSL's error queue of this thread.
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
