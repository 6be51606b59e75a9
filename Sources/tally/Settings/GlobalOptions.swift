import APITypes
import ArgumentParser

/// The options of every command.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where Tally is; else that of --profile, TALLY_URL or the profile.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The API key; else the one beside that address.", valueName: "key"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Profile to use. Overrides the environment. Default: TALLY_PROFILE, then the file's default.",
            valueName: "name"
        )
    )
    var profile: String?

    @Option(
        help: ArgumentHelp(
            "Certificates in PEM that are trusted, beside the system's; else those beside the address.",
            valueName: "file"
        )
    )
    var caFile: String?

    @Option(
        name: [.customShort("o"), .long],
        help: "json, table, or wide: a table with all columns. Default: table."
    )
    var output: OutputFormat?

    @Flag(help: "Print JSON, as the server answered it: -o json.")
    var json = false

    /// How answers are printed.
    var format: OutputFormat { json ? .json : output ?? .table }
}

/// A form of output.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case json
    /// Leaves out columns that do not fit the terminal.
    case table
    /// Has all columns.
    case wide
}

/// The app that the command works on, and the options of every command.
struct AppOption: ParsableArguments {
    @Option(help: ArgumentHelp("The app's bundle id; else the one beside the address.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var global: GlobalOptions
}

/// Selects one page of a list.
struct PageOptions: ParsableArguments {
    /// Nil: not given.
    @Option(help: "The most to show, 1 to 1000. Default: 100.")
    var limit: Int?

    @Option(help: "The next_cursor of the page before.")
    var cursor: String?

    var request: PageRequest { PageRequest(limit: limit ?? 100, cursor: cursor) }

    func validate() throws {
        guard (1...1_000).contains(limit ?? 100) else { throw ValidationError("--limit must be from 1 to 1000.") }
    }
}
