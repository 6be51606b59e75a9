import APITypes
import ArgumentParser

/// The admin command line. It does everything through Tally's HTTP API.
@main
struct TallyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tally",
        abstract: "Keep Live Activities on phones up to date, through a Tally server.",
        discussion: """
            The server and the API key come from --url and --key, from TALLY_URL and TALLY_API_KEY, or from a profile \
            that 'tally profile add' saved.

            --url, --key, --profile, --ca-file, --app, --output and --json stand before or after the command.

            Exit codes: 0 done, 1 refused or failed, 3 no connection or unknown outcome, 64 wrong usage. `doctor`, \
            `activities watch`, `activities test-card` and `apply --dry-run` also have 2; their help says what it means.

            Completions: tally --generate-completion-script bash (or zsh, fish).
            """,
        version: ProgramVersion.current,
        subcommands: [
            Status.self, Apply.self, Apps.self, Keys.self, Types.self, PolicyCommand.self, Devices.self, Users.self,
            Topics.self, Activities.self, Channels.self, Schedules.self, Halts.self, Events.self, WebhooksCommand.self,
            Audit.self, Send.self, Payload.self, Replay.self,
            Ingest.self, DoctorCommand.self, Profiles.self,
        ]
    )

    static func main() async {
        let words = GlobalOptionOrder.behindCommand(Array(CommandLine.arguments.dropFirst()))
        if let unknown = UnknownCommand(words) {
            Terminal.printError(unknown.text)
            exit(withError: ExitCode.validationFailure)
        }
        await main(words)
    }
}
