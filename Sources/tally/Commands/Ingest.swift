import APITypes
import ArgumentParser
import JSON
import Synchronization
import TallyClient

struct Ingest: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send changes as a stream, one a line.",
        discussion: """
            A line is an operation as a batch takes it. Where the server ends the stream or the connection breaks, the \
            rest goes out on the next one, and nothing happens twice. A line without an idempotency_key gets one.

            With --json, the answers are printed, one for each line. Exit code 1: a line was refused.
            """,
        examples: "tally ingest changes.ndjson",
        "tail -f changes.ndjson | tally ingest -"
    )

    @Argument(help: "The file, or - for the standard input.") var path: String
    @OptionGroup var deadline: DeadlineOption
    @OptionGroup var app: AppOption

    func run(_ session: CommandSession) async throws {
        let client = try session.patientClient(deadline: deadline.patience)
        let run = TallyClient.newIdempotencyKey()
        let keys = Atomic(0)
        let lines = try LineFile(path: path).filter { !$0.isEmpty }.map { line in
            IngestReport.keyed(line, "\(run)-\(keys.add(1, ordering: .relaxed).newValue)")
        }
        let report = Mutex(IngestReport())
        let showsProgress = Terminal.errorIsTerminal && !session.json
        do {
            try await client.ingest(try session.app(), lines) { result in
                let (refusal, numbered, soFar) = report.withLock { report in
                    (report.add(result), report.numbered(result), report)
                }
                if session.json {
                    Terminal.print(numbered.json.text)
                } else if let refusal {
                    showsProgress ? Terminal.printErrorOverLine(refusal) : Terminal.printError(refusal)
                }
                if showsProgress, soFar.lines % 100 == 0 { Terminal.writeError("\r\(soFar.text)") }
            }
        } catch {
            if showsProgress { Terminal.writeError("\n") }
            throw error
        }
        let total = report.withLock { $0 }
        if showsProgress { Terminal.writeError("\r") }
        if !session.json { session.show(total) }
        if total.refused > 0 { throw ExitCode.failure }
    }
}
