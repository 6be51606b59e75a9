import Foundation
import Glibc

/// What a server writes about itself into its data folder, and what one that was left behind is recognised by.
struct ServerRemains: Sendable {
    let data: String

    private var lines: [Substring] {
        let bytes = FileManager.default.contents(atPath: data + "/postmaster.pid")
        return bytes.map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        }
            ?? []
    }

    /// Whether the server of this id takes connections: line 1 of `postmaster.pid` is its id, line 8 its state.
    func isReady(processID: Int32) -> Bool {
        let lines = lines
        return lines.count >= 8 && lines[0] == "\(processID)"
            && ["ready", "standby"].contains { lines[7].hasPrefix($0) }
    }

    /// Stops a server that a killed process has left on these data.
    func stopServer(until deadline: ContinuousClock.Instant) async throws(LocalPostgresError) {
        guard let processID = lines.first.flatMap({ Int32($0) }), processID > 0 else { return }
        guard owns(processID) else {
            // A process of that number lives, but is somebody else: PostgreSQL would be misled by the file.
            if kill(processID, 0) == 0 || errno == EPERM { unlink(data + "/postmaster.pid") }
            return
        }
        kill(processID, SIGINT)
        while owns(processID) {
            guard ContinuousClock.now < deadline else {
                throw LocalPostgresError(
                    .timedOut,
                    "the server \(processID) that still runs on \(data) did not stop in time"
                )
            }
            // It is not our child, so the kernel tells nobody of its end.
            await Pause.short()
        }
    }

    /// A server's working folder is its data folder.
    private func owns(_ processID: Int32) -> Bool {
        let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/cwd")
        return folder != nil && folder == canonical(data)
    }

    private func canonical(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
