package import Foundation
import Glibc
import Synchronization
import TestSupport

/// A `tallyd` with an address of its own, which is the same over restarts.
package final class DaemonProcess: Sendable {
    /// The address of its API.
    package let url: String
    private let folder: PrivateFolder
    private let state: Mutex<State>

    private struct State {
        var settings: [String: String]
        /// The folder of the programs; nil for that of this build.
        var programs: URL?
        var program: RunningProgram?
    }

    /// Starts nothing yet. The address goes before what the settings say.
    package init(settings: [String: String], in folder: PrivateFolder) {
        let address = Self.newAddress()
        url = "http://\(address.host):\(address.port)"
        self.folder = folder
        let own = ["TALLY_HTTP_HOST": address.host, "TALLY_HTTP_PORT": "\(address.port)"]
        state = Mutex(State(settings: settings.merging(own) { $1 }))
    }

    package var settings: [String: String] { state.withLock { $0.settings } }

    /// The folder of its programs; nil for that of this build.
    var programs: URL? { state.withLock { $0.programs } }

    /// Changes settings, from the next start on; and the folder of the programs, for those of another version.
    package func change(_ settings: [String: String] = [:], programs: URL? = nil) {
        state.withLock { state in
            state.settings.merge(settings) { $1 }
            state.programs = programs ?? state.programs
        }
    }

    /// Uses the programs of this build from the next start on.
    package func upgrade() {
        state.withLock { $0.programs = nil }
    }

    /// The running program, or the one that ended last.
    package var program: RunningProgram {
        get throws {
            guard let program = state.withLock({ $0.program }) else { throw Failure("the daemon does not run") }
            return program
        }
    }

    /// What it has logged since it was last started.
    package var log: String { state.withLock { $0.program }?.errors ?? "" }

    /// Starts it, and waits until it takes requests.
    package func start(within limit: Duration = .seconds(60)) async throws {
        let (settings, programs) = state.withLock { ($0.settings, $0.programs) }
        let program = try await RunningProgram.start(
            "tallyd",
            ["serve"],
            from: programs,
            environment: settings,
            in: folder
        )
        state.withLock { $0.program = program }
        let line = try await program.line(beginningWith: "listening on ", within: limit)
        guard line == "listening on \(url)" else { throw Failure("'\(line)' instead of \(url)") }
    }

    /// SIGKILL.
    package func kill() async {
        await state.withLock { $0.program }?.kill()
    }

    /// Asks for the end, waits, and insists.
    @discardableResult
    package func stop() async -> RunningProgram.Ending? {
        await state.withLock { $0.program }?.stop()
    }

    /// SIGKILL without waiting, for the end of our own process.
    package func endAtOnce() {
        state.withLock { $0.program }?.signal(SIGKILL)
    }

    private static let ports = Atomic<UInt16>(20_000)

    /// An address that no other process has: all of 127.0.0.0/8 is this machine. So a daemon finds its port free again
    /// after a crash, which a port taken from the system would not promise.
    private static func newAddress() -> (host: String, port: UInt16) {
        let id = UInt32(bitPattern: ProcessInfo.processInfo.processIdentifier)
        let host = "127.\(64 + id >> 16 & 63).\(id >> 8 & 255).\(id & 255)"
        return (host, ports.add(1, ordering: .relaxed).newValue)
    }
}
