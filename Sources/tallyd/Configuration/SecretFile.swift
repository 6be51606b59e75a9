import SystemPackage

/// A file that holds the value of a secret setting.
struct SecretFile {
    let path: String
    /// The setting that names the file.
    let setting: String

    private static let limit = 64 * 1024

    /// The content without the newline at its end.
    ///
    /// - Throws: ``ConfigurationError`` that names the setting and the file, and never quotes the content.
    func content() throws(ConfigurationError) -> String {
        var content = try text()[...]
        while content.last?.isNewline == true { content.removeLast() }
        guard !content.isEmpty else { throw error("is empty") }
        return String(content)
    }

    private func text() throws(ConfigurationError) -> String {
        let bytes: [UInt8]
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly)
            bytes = try file.closeAfter { try Self.bytes(of: file) }
        } catch {
            throw self.error("cannot be read: \(error)")
        }
        guard bytes.count <= Self.limit else { throw error("has more than 64 KiB") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error("is not UTF-8 text") }
        return text
    }

    /// At most one byte more than the limit.
    private static func bytes(of file: FileDescriptor) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let part = try [UInt8](unsafeUninitializedCapacity: limit + 1 - bytes.count) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            guard !part.isEmpty else { break }
            bytes += part
        }
        return bytes
    }

    private func error(_ message: String) -> ConfigurationError {
        ConfigurationError(key: setting, message: "\(path) \(message)")
    }
}
