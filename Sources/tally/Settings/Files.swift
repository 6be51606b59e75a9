import Foundation
import JSON

/// Reads files that are named on the command line.
enum Files {
    static func read(_ path: String) throws -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw UsageError("\(path) cannot be read: \(error.localizedDescription)")
        }
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
