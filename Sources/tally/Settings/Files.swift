import Foundation
import JSON

/// Reads files that are named on the command line.
enum Files {
    private static let chunk = 64 << 10

    /// The bytes of a file, or of a pipe up to its end: `<(…)` of a shell and `/dev/stdin` are pipes.
    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: chunk)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            let error = errno
            if count > 0 {
                bytes += buffer.prefix(count)
            } else if count == 0 {
                return bytes
            } else if error != EINTR {
                throw unreadable(path, error)
            }
        }
    }

    /// A descriptor from which a file or a pipe is read. The caller closes it.
    static func opened(_ path: String) throws(UsageError) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let error = errno
        guard descriptor >= 0 else { throw unreadable(path, error) }
        return descriptor
    }

    /// What to say of a file or folder that cannot be read, by the number of the system's error.
    static func unreadable(_ path: String, _ error: Int32) -> UsageError {
        if error == ENOENT { return UsageError("no such file: \(path)") }
        return UsageError("\(path) cannot be read: \(String(cString: strerror(error)))")
    }

    /// The bytes of a file that may contain secrets; nil if it does not exist.
    ///
    /// - Throws: ``UsageError`` if anybody except its owner may read or change it.
    static func readPrivate(_ path: String) throws -> [UInt8]? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        var status = stat()
        guard stat(path, &status) == 0 else { return try read(path) }
        guard status.st_mode & 0o077 == 0 else {
            throw UsageError("\(path) may hold API keys, and others can open it: chmod 600 \(path)")
        }
        return try read(path)
    }

    /// Replaces a file that only its owner may read. Makes its folder.
    static func writePrivate(_ bytes: [UInt8], _ path: String) throws {
        let file = URL(fileURLWithPath: path)
        let draft = URL(fileURLWithPath: path + ".new")
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            // An earlier draft may have other permissions; usually there is none.
            try? FileManager.default.removeItem(at: draft)
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            guard FileManager.default.createFile(atPath: draft.path, contents: Data(bytes), attributes: attributes),
                rename(draft.path, file.path) == 0
            else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            throw UsageError("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    static func readText(_ path: String) throws -> String {
        guard let text = String(validating: try read(path), as: UTF8.self) else {
            throw UsageError("\(path) is not UTF-8 text.")
        }
        return text
    }

    /// The JSON document in a file.
    static func readJSON(_ path: String) throws -> JSONValue {
        try parse(try read(path), from: path)
    }

    static func parse(_ bytes: [UInt8], from source: String) throws -> JSONValue {
        do {
            return try JSONValue.parse(bytes)
        } catch {
            throw UsageError("\(source) is not valid JSON at byte \(error.offset): \(error.message)")
        }
    }
}
