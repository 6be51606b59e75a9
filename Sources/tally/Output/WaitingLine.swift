/// A line on the terminal that shows a running task and its duration. It is updated every second and removed at the
/// end.
struct WaitingLine: Sendable {
    let text: String
    let write: @Sendable (String) -> Void

    /// Runs until the task is cancelled. Shows nothing in the first second.
    func run<Time: Clock<Duration>>(clock: Time) async {
        let start = clock.now
        var isShown = false
        // `sleep` throws only on cancellation.
        while (try? await clock.sleep(for: .seconds(1))) != nil {
            // Returns to the start of the line, and clears the rest of a longer old text.
            write("\r\(text): \(start.duration(to: clock.now).components.seconds) s\u{1B}[K")
            isShown = true
        }
        if isShown { write("\r\u{1B}[K") }
    }
}

extension CommandSession {
    /// Runs slow work. On a terminal, a line shows the progress.
    func waiting<Answer>(for text: String, _ work: () async throws -> Answer) async throws -> Answer {
        guard Terminal.errorIsTerminal else { return try await work() }
        // The end of this scope cancels the line and waits for it, before the answer is printed.
        async let _ = WaitingLine(text: text, write: Terminal.writeError).run(clock: ContinuousClock())
        return try await work()
    }
}
