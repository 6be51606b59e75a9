import ArgumentParser

/// How long a command goes on while the server is away.
struct DeadlineOption: ParsableArguments {
    @Option(help: "How long to keep sending while the server is away, such as 10m. Default: 60s.")
    var deadline: Checked<Span>?

    var patience: Duration { .seconds(deadline?.value.seconds ?? 60) }

    func validate() throws {
        guard patience > .zero else { throw ValidationError("--deadline must be over 0.") }
    }
}
