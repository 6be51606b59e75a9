import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

/// The settings and the API client of a command.
struct CommandSession {
    let client: TallyClient
    let format: OutputFormat
    private let settings: Settings

    init(_ settings: Settings, format: OutputFormat) throws {
        self.settings = settings
        self.format = format
        // A person waits, so there are no retries unless a command asks for them.
        client = try TallyClient(.init(url: settings.url, key: settings.key, caFile: settings.caFile, retry: nil))
    }

    var url: String { settings.url }

    /// Whether answers are printed as JSON.
    var json: Bool { format == .json }

    /// The app that the command works on.
    func app() throws -> BundleID {
        guard let app = settings.app else {
            throw UsageError("Which app? Give --app, or set TALLY_APP, such as com.example.app.")
        }
        return app
    }

    /// A client that retries until `deadline`, for commands that must survive a restart of the server.
    func patientClient(deadline: Duration) throws -> TallyClient {
        let retry = RetryPolicy(longestDelay: .milliseconds(500))
        return try TallyClient(
            .init(url: settings.url, key: settings.key, caFile: settings.caFile, deadline: deadline, retry: retry)
        )
    }
}

/// A command that reports its errors in Tally's own format.
protocol ReportingCommand: AsyncParsableCommand {
    var global: GlobalOptions { get }
    /// The app on the command line, if the command has this option.
    var appName: String? { get }

    func carryOut() async throws
}

extension ReportingCommand {
    var appName: String? { nil }

    /// Carries the command out, and turns errors into messages and exit codes.
    mutating func run() async throws {
        do {
            try await carryOut()
        } catch {
            throw reported(error)
        }
    }

    /// Prints the error. Returns the error to throw for the exit code.
    private func reported(_ error: any Error) -> any Error {
        // ArgumentParser reports its own errors.
        guard let report = ErrorReport(error) else { return error }
        Terminal.printError(global.format == .json ? report.json.text : report.text)
        return report.exitCode
    }

    /// The server from the command line, the environment or a profile.
    func session() throws -> CommandSession {
        let settings = try Settings(
            options: global,
            app: appName,
            environment: ProcessInfo.processInfo.environment,
            readFile: Files.readPrivate
        )
        return try CommandSession(settings, format: global.format)
    }
}

/// A command that calls the server.
protocol ClientCommand: ReportingCommand {
    func run(_ session: CommandSession) async throws
}

/// A command that works on one app.
protocol AppCommand: ClientCommand {
    var app: AppOption { get }
}

extension AppCommand {
    var appName: String? { app.app }
    var global: GlobalOptions { app.global }
}

extension ClientCommand {
    func carryOut() async throws { try await run(session()) }
}
