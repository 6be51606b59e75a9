import APITypes
import ActivityModel
import ArgumentParser
import ReportTypes
import TallyClient

struct DoctorCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look at everything that sending depends on, and say what to do about it.",
        discussion: """
            The daemon looks at its database, its clock, its keys, its work, and at the way to Apple. Nothing is changed, \
            except with --try-channels, which makes a channel at Apple for each app and environment and deletes it again.

            Exit codes: 0 all is well, 1 something is broken, 2 warnings only.
            """,
        examples: "tally doctor",
        "tally doctor --app com.example.app --try-channels"
    )

    @Flag(help: "Try the broadcast capability by making and deleting a channel.") var tryChannels = false
    @Option(help: "Only this environment: sandbox or production.") var environment: APNSEnvironment?
    @Option(help: ArgumentHelp("Only this app.", valueName: "bundle-id")) var app: Checked<BundleID>?
    @OptionGroup var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let request = DoctorRequest(bundleID: app?.value, environment: environment, triesChannels: tryChannels)
        let report = try await session.waiting(for: "Looking") { try await session.client.examine(request) }
        session.show(report)
        switch report.verdict {
        case .ok: return
        case .warning: throw Self.warnings
        case .broken: throw ExitCode.failure
        }
    }

    private static let warnings = ExitCode(2)
}
