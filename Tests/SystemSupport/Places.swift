package import Foundation
import Glibc

/// Where the built programs and the samples are.
package enum Places {
    /// The folder with `tallyd`, `tally` and `apns-sim`: named by `TALLY_BIN_DIR`, else the one that the tests run in.
    package static let programs: URL = {
        if let folder = ProcessInfo.processInfo.environment["TALLY_BIN_DIR"] { return URL(fileURLWithPath: folder) }
        return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    }()

    /// A file of `docs/samples`.
    package static func sample(_ name: String) -> URL { document("samples/\(name)") }

    /// A file of `docs`.
    package static func document(_ name: String) -> URL {
        // Three steps up: the file, SystemSupport, Tests.
        var root = URL(fileURLWithPath: #filePath)
        for _ in 1...3 { root.deleteLastPathComponent() }
        return root.appending(path: "docs/\(name)")
    }
}

/// A folder for one test, removed with everything in it.
package struct PrivateFolder: Sendable {
    package let url: URL

    private static let prefix = "tally-e2e-"

    /// Removes what test processes have left that were killed: names begin with the id of the process.
    private static let removeAbandoned: Void = {
        let parent = FileManager.default.temporaryDirectory
        // Whoever cannot be listed or removed is another run's to remove.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        where name.hasPrefix(prefix) {
            guard let owner = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }), kill(owner, 0) != 0,
                errno == ESRCH
            else { continue }
            try? FileManager.default.removeItem(at: parent.appending(path: name))
        }
    }()

    package init() throws {
        Self.removeAbandoned
        let name = "\(Self.prefix)\(getpid())-\(UUID().uuidString)"
        url = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    package func path(_ name: String) -> String { url.appending(path: name).path }

    package func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    package func remove() {
        // What is left is in the temporary folder, and no later test looks at it.
        try? FileManager.default.removeItem(at: url)
    }
}
