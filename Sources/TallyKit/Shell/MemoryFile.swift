package import Foundation

/// The file that holds the memory: written as a whole, outside of backups.
package struct MemoryFile: Sendable {
    private let url: URL

    package init(folder: URL) {
        url = folder.appending(path: "TallyKit", directoryHint: .isDirectory).appending(path: "memory.json")
    }

    /// - Returns: What was stored; nil if nothing was.
    /// - Throws: If there is a file that cannot be read now, as before the first unlock after a restart.
    package func load() throws -> Memory? {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
        // A file of another version is as good as none: everything is reported anew.
        return try? JSONDecoder().decode(Memory.self, from: data)
    }

    package func save(_ memory: Memory) throws {
        var folder = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #if !os(Linux)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try folder.setResourceValues(values)
        try JSONEncoder().encode(memory)
            .write(to: url, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
        #else
        folder.standardize()
        try JSONEncoder().encode(memory).write(to: url, options: .atomic)
        #endif
    }
}
