/// A line on the terminal that says what is under way and for how long already: written over every second, gone at the
/// end.
struct WaitingLine: Sendable {
    let text: String
    let write: @Sendable (String) -> Void

    /// Until the task is cancelled. What takes less than a second gets no line.
    func run<Time: Clock<Duration>>(clock: Time) async {
        let start = clock.now
        var isShown = false
        // It throws when the task is cancelled, and for no other reason.
        while (try? await clock.sleep(for: .seconds(1))) != nil {
            // To the start of the line, the text, and nothing of a longer one before.
            write("\r\(text): \(start.duration(to: clock.now).components.seconds) s\u{1B}[K")
            isShown = true
        }
        if isShown { write("\r\u{1B}[K") }
    }
}

extension Session {
    /// Does what may take minutes; on a terminal a line says so meanwhile.
    func waiting<Answer>(for text: String, _ work: () async throws -> Answer) async throws -> Answer {
        guard Console.errorIsTerminal else { return try await work() }
        // Cancelled, and waited for, at the end of this scope: before the answer is printed.
        async let _ = WaitingLine(text: text, write: Console.writeError).run(clock: ContinuousClock())
        return try await work()
    }
}
