import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

/// What a command works with.
struct Session {
    let client: TallyClient
    /// Whether answers are printed as JSON.
    let json: Bool
    private let settings: Settings

    init(_ settings: Settings, json: Bool) throws {
        self.settings = settings
        self.json = json
        // A person waits: the first failure is final, except where a command says otherwise.
        client = try TallyClient(.init(url: settings.url, key: settings.key, caFile: settings.caFile, retry: nil))
    }

    /// Where Tally is.
    var url: String { settings.url }

    /// The app that the command is about.
    func app() throws -> BundleID {
        guard let app = settings.app else {
            throw UsageError("Which app? Give --app, or set TALLY_APP, such as com.example.app.")
        }
        return app
    }

    /// A client that goes on trying for so long, for commands that outlive a restart of the server.
    func patientClient(deadline: Duration) throws -> TallyClient {
        let retry = RetryPolicy(longestDelay: .milliseconds(500))
        return try TallyClient(
            .init(url: settings.url, key: settings.key, caFile: settings.caFile, deadline: deadline, retry: retry)
        )
    }
}

/// A command that says in its own way what goes wrong.
protocol ReportingCommand: AsyncParsableCommand {
    var global: GlobalOptions { get }
    /// The app given on the command line, where the command takes one.
    var appName: String? { get }
}

extension ReportingCommand {
    var appName: String? { nil }

    /// Says what went wrong; what to throw for the exit code.
    func reported(_ error: any Error) -> any Error {
        // What ArgumentParser knows, it reports itself.
        guard let report = ErrorReport(error) else { return error }
        Console.printError(global.json ? report.json.text : report.text)
        return report.exitCode
    }

    /// The server that the command line, the environment or a profile names.
    func session() throws -> Session {
        let settings = try Settings(
            options: global,
            app: appName,
            environment: ProcessInfo.processInfo.environment,
            readFile: Files.readPrivate
        )
        return try Session(settings, json: global.json)
    }
}

/// A command that talks to the server.
protocol ClientCommand: ReportingCommand {
    func run(_ session: Session) async throws
}

extension ClientCommand {
    /// Finds the server, runs the command, and turns what goes wrong into words and an exit code.
    mutating func run() async throws {
        do {
            try await run(session())
        } catch {
            throw reported(error)
        }
    }
}
