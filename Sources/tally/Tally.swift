import APITypes
import ArgumentParser

/// The admin command line. It does everything through Tally's HTTP API.
@main
struct Tally: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tally",
        abstract: "Keep Live Activities on phones up to date, through a Tally server.",
        discussion: """
            The server and the API key come from --url and --key, from TALLY_URL and TALLY_API_KEY, or from a profile \
            in ~/.config/tally/config.json (TALLY_CONFIG names another file):

              { "default": "local", "profiles": { "local": { "url": "http://127.0.0.1:8080", "key": "…", "app": "com.example.app" } } }

            Only its owner may be able to read that file (chmod 600).

            --url, --key, --profile, --ca-file, --app and --json stand before or after the command.

            Exit codes: 0 done, 1 refused or failed, 3 no connection or unknown outcome, 64 wrong usage. `doctor` and \
            `activities watch` have one more each.

            Completions: tally --generate-completion-script bash (or zsh, fish).
            """,
        version: ProgramVersion.current,
        subcommands: [
            Apps.self, Keys.self, Types.self, Devices.self, Activities.self, Channels.self,
            Schedules.self, Events.self, Audit.self, Send.self, Payload.self, Replay.self, Doctor.self,
        ]
    )

    static func main() async {
        await main(GlobalOptionOrder.behindCommand(Array(CommandLine.arguments.dropFirst())))
    }
}
