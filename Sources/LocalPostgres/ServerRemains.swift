import Foundation
import Glibc

/// The files that a server writes about itself into its data folder. They identify a server that was left behind.
struct ServerRemains: Sendable {
    let data: String

    private var lines: [Substring] {
        let bytes = FileManager.default.contents(atPath: data + "/postmaster.pid")
        return bytes.map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        }
            ?? []
    }

    /// Whether the server with this id accepts connections. Line 1 of `postmaster.pid` is its id, line 8 its state.
    func isReady(processID: Int32) -> Bool {
        let lines = lines
        return lines.count >= 8 && lines[0] == "\(processID)"
            && ["ready", "standby"].contains { lines[7].hasPrefix($0) }
    }

    /// Stops a server that a killed process has left on this data folder.
    func stopServer(until deadline: ContinuousClock.Instant) async throws(LocalPostgresError) {
        guard let processID = lines.first.flatMap({ Int32($0) }), processID > 0 else { return }
        guard owns(processID) else {
            // Another process now has that id, and the file would mislead PostgreSQL.
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
            // It is not a child of this process, so the kernel does not report its end.
            await PollingPause.short()
        }
    }

    /// Whether the process is a server of this folder: a server's working directory is its data folder.
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
