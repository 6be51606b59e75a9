import Foundation
import JSON
import Reactor
package import SwiftContent
import Synchronization

/// Has schemas made from Swift sources by `tally-import`, a program of its own that runs with limits.
///
/// In this process a hostile source could end it: Swift's parser calls itself as deep as a source is nested.
package final class SwiftImporter: Sendable {
    /// The most that run at the same time; another one is refused.
    private static let mostAtOnce = 4

    private let program: String
    private let deadline: Duration
    private let running = Mutex(0)

    /// An importer.
    ///
    /// - Parameters:
    ///   - program: `tally-import`; by default the one beside this program.
    ///   - deadline: after it an import is given up.
    package init(program: String = SwiftImporter.programBesideThis, deadline: Duration = .seconds(60)) {
        self.program = program
        self.deadline = deadline
    }

    /// Where `tally-import` is when all programs are in one folder.
    package static var programBesideThis: String {
        // Without /proc the name alone remains, and nothing is found.
        let this = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: this).deletingLastPathComponent().appending(path: "tally-import").path
    }

    /// The schemas, or what stands in their way.
    ///
    /// - Throws: Nothing about the source, except that it costs more than is granted.
    package func answer(to request: ImportRequest) async throws(SwiftImporterError) -> ImportAnswer {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw SwiftImporterError(.missing, "there is no program \(program)")
        }
        let hasRoom = running.withLock { running in
            guard running < Self.mostAtOnce else { return false }
            running += 1
            return true
        }
        guard hasRoom else { throw SwiftImporterError(.busy, "\(Self.mostAtOnce) sources are being read already") }
        defer { running.withLock { $0 -= 1 } }
        let (ending, text) = try await run(request)
        switch ending {
        case .exited(0):
            // An answer that is nested deeper than JSON may be here could not be stored either.
            guard let json = try? JSONValue(parsing: text), let answer = ImportAnswer(json: json) else {
                throw SwiftImporterError(.failed, "tally-import answered what is no answer")
            }
            return answer
        case .exited(let status): throw SwiftImporterError(.failed, "tally-import ended with exit code \(status)")
        case .killed(let signal): throw SwiftImporterError(.exhausted, "tally-import ended by signal \(signal)")
        }
    }

    private func run(
        _ request: ImportRequest
    ) async throws(SwiftImporterError) -> (ending: ChildProcess.Ending, text: String) {
        // The libraries of Swift may be found by this alone, and the report of a crash would take longer than the
        // import.
        var environment = ["SWIFT_BACKTRACE": "enable=no"]
        environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        do {
            return try await ChildProcess.output(
                of: ProgramStart([program], environment: environment),
                input: request.json.serialized(),
                timeout: deadline
            )
        } catch {
            throw SwiftImporterError(error.code == .timedOut ? .exhausted : .failed, error.description)
        }
    }
}
