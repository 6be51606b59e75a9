import Foundation
import Reactor

/// PostgreSQL's server programs on this machine. ``LocalCluster`` runs them.
struct Installation: Sendable, Hashable {
    /// The folder with `initdb` and `postgres`.
    let folder: String
    /// The major version, such as 15.
    let version: Int

    func program(_ name: String) -> String { "\(folder)/\(name)" }

    /// Finds the newest installation, or the one that can read data of the given version.
    static func find(version: Int?) async throws(LocalPostgresError) -> Installation {
        let found = await candidates().filter { installation in
            ["initdb", "postgres", "psql"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: installation.program($0))
            }
        }
        guard !found.isEmpty else {
            throw LocalPostgresError(
                .notInstalled,
                "PostgreSQL's server is not installed: no initdb under /usr/lib/postgresql/*/bin or on the PATH "
                    + "(on Debian or Ubuntu: apt-get install postgresql)"
            )
        }
        guard let version else { return found[0] }
        guard let match = found.first(where: { $0.version == version }) else {
            throw LocalPostgresError(
                .wrongVersion,
                "the data were written by PostgreSQL \(version), and only "
                    + found.map { "\($0.version)" }.joined(separator: ", ") + " is installed"
            )
        }
        return match
    }

    /// All installations, newest first; those of the distribution come before those in the PATH.
    private static func candidates() async -> [Installation] {
        let packaged = ["/usr/lib/postgresql", "/usr/pgsql"].flatMap { root -> [Installation] in
            // A root that does not exist has no installations.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            return names.compactMap { name in
                Int(name).map { Installation(folder: "\(root)/\(name)/bin", version: $0) }
            }
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        var onPath: [Installation] = []
        for folder in path.split(separator: ":").map(String.init) {
            guard FileManager.default.isExecutableFile(atPath: "\(folder)/postgres") else { continue }
            guard let version = await versionOf("\(folder)/postgres") else { continue }
            onPath.append(Installation(folder: folder, version: version))
        }
        return packaged.sorted { $0.version > $1.version } + onPath
    }

    /// `postgres (PostgreSQL) 15.20 …` → 15.
    private static func versionOf(_ program: String) async -> Int? {
        let question = ProgramStart([program, "--version"])
        // A program that cannot run does not count as an installation.
        let answer = try? await ChildProcess.output(of: question, timeout: .seconds(10))
        return answer?.text.split(separator: " ").compactMap { Int($0.prefix { $0.isNumber }) }.first
    }
}
