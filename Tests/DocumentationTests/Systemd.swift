import Foundation
import TestSupport

/// systemd's own judgement of unit files.
enum Systemd {
    /// Containers often lack it.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")

    /// Writes the units by name to a folder of their own, and runs `systemd-analyze` on them.
    static func analyze(_ arguments: String..., units: [String: String]) async throws -> Program.Output {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        // What is left is in the temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in units { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let paths = units.keys.sorted().map { folder.appending(path: $0).path }
        return try await Program("systemd-analyze").run(arguments + paths)
    }
}
