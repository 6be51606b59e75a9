internal import COpenSSL

/// An OpenSSL key; freed with its last reference.
///
/// `@unchecked Sendable`: the `EVP_PKEY` never changes after this initializer. OpenSSL 3 allows any number of threads
/// to sign, verify and export with one key at the same time (each operation has its own context).
@safe
final class PKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Reads one key from PEM `text`, which must contain a `noun` ("private key", "public key") on P-256.
    static func parse(
        pem text: String,
        noun: String,
        labels: Set<String>,
        read: (_ memory: OpaquePointer) -> OpaquePointer?
    ) throws(CryptographyError) -> PKey {
        let found = pemLabels(in: text)
        guard !found.isEmpty else {
            throw CryptographyError(code: .invalidKey, message: "the \(noun) is not PEM text")
        }
        guard found.contains(where: labels.contains) else {
            let what = found.joined(separator: ", ")
            throw CryptographyError(
                code: .invalidKey,
                message: "expected a \(noun) in PEM, found \(what.prefix(80))"
            )
        }
        let bytes = Array(text.utf8)
        let pointer = unsafe bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let memory = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(memory) }
            return unsafe read(memory)
        }
        // After success, the failed search for another PEM block may still be in the error queue.
        ERR_clear_error()
        guard let pointer = unsafe pointer else {
            throw CryptographyError(code: .invalidKey, message: "the \(noun) is damaged")
        }
        let key = unsafe PKey(owning: pointer)
        guard key.isP256 else {
            throw CryptographyError(code: .invalidKey, message: "the \(noun) is \(key.kind), not P-256")
        }
        return key
    }

    private static func pemLabels(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let line = line.drop(while: \.isWhitespace)
            guard line.hasPrefix("-----BEGIN ") else {
                return nil
            }
            let label = line.dropFirst("-----BEGIN ".count)
            guard let end = label.firstIndex(of: "-") else {
                return nil
            }
            return String(label[..<end])
        }
    }

    /// The coordinates of the public half of a P-256 key: X | Y, 32 bytes each.
    func publicPoint() throws(CryptographyError) -> [UInt8] {
        try coordinate(OSSL_PKEY_PARAM_EC_PUB_X) + coordinate(OSSL_PKEY_PARAM_EC_PUB_Y)
    }

    private func coordinate(_ name: String) throws(CryptographyError) -> [UInt8] {
        var number: OpaquePointer?
        var bytes = [UInt8](repeating: 0, count: 32)
        defer { unsafe BN_free(number) }
        guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1,
            unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(bytes.count)
        else { throw CryptographyError.failed("reading a public key") }
        return bytes
    }

    private var isP256: Bool {
        groupName == "prime256v1"
    }

    private var groupName: String? {
        var name = [UInt8](repeating: 0, count: 64)
        var count = 0
        let known = unsafe name.withUnsafeMutableBytes { name in
            unsafe EVP_PKEY_get_group_name(pointer, name.baseAddress, name.count, &count) == 1
        }
        ERR_clear_error()
        return known ? String(decoding: name.prefix(count), as: UTF8.self) : nil
    }

    /// The kind of key, for messages: `RSA of 2048 bits`, `EC on secp384r1`.
    private var kind: String {
        let type = unsafe EVP_PKEY_get0_type_name(pointer).map { unsafe String(cString: $0) } ?? "a key of unknown kind"
        if let groupName {
            return "\(type) on \(groupName)"
        }
        return unsafe "\(type) of \(EVP_PKEY_get_bits(pointer)) bits"
    }

    /// The text that `write` writes to a memory BIO.
    static func pem(
        _ operation: String,
        write: (_ memory: OpaquePointer) -> Int32
    ) throws(CryptographyError) -> String {
        guard let memory = unsafe BIO_new(BIO_s_mem()) else {
            throw CryptographyError.failed(operation)
        }
        defer { unsafe BIO_free(memory) }
        guard unsafe write(memory) == 1 else {
            throw CryptographyError.failed(operation)
        }
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(memory))
        let count = unsafe BIO_read(memory, &bytes, Int32(bytes.count))
        guard count == bytes.count else {
            throw CryptographyError.failed(operation)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
