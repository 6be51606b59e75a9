import Glibc
import Reactor

/// A program of the machine that a test runs.
package struct Program: Sendable {
    package struct Output: Sendable {
        /// The exit status, or the signal that killed it.
        package let status: Int32
        /// All that it has printed, errors included.
        package let text: String
    }

    /// One that runs beside the test; to be killed before the test ends.
    package struct Background: Sendable {
        fileprivate let process: ChildProcess

        package func kill() { process.signal(SIGKILL) }
    }

    /// It is not there.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    /// Where it is.
    package let path: String

    /// One that the machine has.
    ///
    /// - Throws: ``Missing``.
    package init(_ name: String) throws(Missing) {
        let paths = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].map { "\($0)/\(name)" }
        guard let path = paths.first(where: { access($0, X_OK) == 0 }) else {
            throw Missing(description: "\(name) is not installed; tools/test installs it")
        }
        self.path = path
    }

    private init(path: String) { self.path = path }

    /// The Python that tools/test prepares, with the packages of `Tests/ForeignPeers/requirements.txt`.
    ///
    /// - Throws: ``Missing``.
    package static func python() throws(Missing) -> Program {
        let path = getenv("TALLY_TEST_PYTHON").map { String(cString: $0) } ?? ".build/test-python/bin/python3"
        guard access(path, X_OK) == 0 else {
            throw Missing(description: "there is no \(path); tools/test prepares it and sets TALLY_TEST_PYTHON")
        }
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return Program(path: path) }
        defer { free(folder) }
        return Program(path: "\(String(cString: folder))/\(path)")
    }

    /// Runs it to its end; it is killed when it takes longer.
    package func run(_ arguments: [String], within limit: Duration = .seconds(60)) async throws -> Output {
        let (ending, text) = try await ChildProcess.output(of: ProgramStart([path] + arguments), timeout: limit)
        return Output(status: ending.status, text: text)
    }

    /// Starts it in the background; what it prints is lost.
    package func start(_ arguments: [String]) throws -> Background {
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        let program = ProgramStart([path] + arguments)
        return Background(process: try ChildProcess.start(program, output: nowhere, errors: nowhere))
    }
}
