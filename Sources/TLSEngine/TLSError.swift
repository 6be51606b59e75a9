import COpenSSL

/// TLS setup or a connection failed. It never contains keys, certificates or data.
package struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case invalidMaterial, untrusted, protocolNotChosen, failed, outOfMemory
        }
        private let kind: Kind

        /// A CA file, certificate or private key cannot be read or does not match. This is an operator's mistake.
        package static let invalidMaterial = Code(kind: .invalidMaterial)
        /// The peer's certificate is untrusted, expired or for another host. Nothing was sent.
        package static let untrusted = Code(kind: .untrusted)
        /// The handshake succeeded, but the peer did not choose the application protocol through ALPN.
        package static let protocolNotChosen = Code(kind: .protocolNotChosen)
        /// The handshake or a record failed, or the peer sent an alert. The connection is unusable.
        package static let failed = Code(kind: .failed)
        /// OpenSSL could not allocate an object.
        package static let outOfMemory = Code(kind: .outOfMemory)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// The operation that failed, with the file name if a file is the cause.
    package let operation: String
    /// OpenSSL's whole error queue, the first error first.
    package let reasons: [String]

    package var description: String {
        let cause = reasons.isEmpty ? code.description : reasons.joined(separator: "; ")
        return "TLS \(operation): \(cause)"
    }

    init(_ code: Code, _ operation: String, reasons: [String]) {
        self.code = code
        self.operation = operation
        self.reasons = reasons
    }

    /// Takes all errors from this thread's queue, so that no later call reports them.
    init(_ code: Code, draining operation: String) {
        self.init(code, operation, reasons: Self.drainQueue())
    }

    static func drainQueue() -> [String] {
        var reasons: [String] = []
        while true {
            let number = ERR_get_error()
            guard number != 0 else { return reasons }
            let text = unsafe ERR_reason_error_string(number).map { unsafe String(cString: $0) }
            reasons.append(text ?? "error \(String(number, radix: 16))")
        }
    }
}
