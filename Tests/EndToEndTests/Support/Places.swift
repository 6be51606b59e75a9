import Foundation

/// Where the built programs and the samples are.
enum Places {
    /// The folder with `tallyd`, `tally` and `apns-sim`: named by `TALLY_BIN_DIR`, else the one that the tests run in.
    static let programs: URL = {
        if let folder = ProcessInfo.processInfo.environment["TALLY_BIN_DIR"] { return URL(fileURLWithPath: folder) }
        return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    }()

    /// A file of `docs/samples`.
    static func sample(_ name: String) -> URL {
        // Four steps up: the file, Support, EndToEndTests, Tests.
        var root = URL(fileURLWithPath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        return root.appending(path: "docs/samples/\(name)")
    }
}

/// A folder for one test, removed with everything in it.
struct PrivateFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "tally-e2e-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    func remove() {
        // What is left is in the temporary folder, and no later test looks at it.
        try? FileManager.default.removeItem(at: url)
    }
}
