import Foundation
import JSON
import Reactor
package import SwiftContent
import Synchronization

/// Makes schemas from Swift sources. It runs `tally-import` as a separate process with limits.
///
/// A hostile source could crash this process otherwise, because Swift's parser recurses as deep as the source is
/// nested.
package final class SwiftImporter: Sendable {
    /// The most imports at the same time. Further ones are refused.
    private static let mostAtOnce = 4

    private let program: String
    private let deadline: Duration
    private let running = Mutex(0)

    /// Creates an importer.
    ///
    /// - Parameters:
    ///   - program: The path of `tally-import`; by default next to this program.
    ///   - deadline: The longest time of an import.
    package init(program: String = SwiftImporter.programBesideThis, deadline: Duration = .seconds(60)) {
        self.program = program
        self.deadline = deadline
    }

    /// The path of `tally-import` in the folder of this program.
    package static var programBesideThis: String {
        // Without /proc, only the name remains and the program is not found.
        let this = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: this).deletingLastPathComponent().appending(path: "tally-import").path
    }

    /// The schemas, or the errors in the source.
    ///
    /// - Throws: An error if the import fails or exceeds its limits. Errors in the source are in the answer.
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
            // Fails also if the answer is nested too deep for JSON, which could not be stored either.
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
        // The program may need this path to find Swift's libraries. Crash reports are off, because they take longer
        // than the import.
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
