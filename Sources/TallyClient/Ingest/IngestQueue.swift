/// The lines of a stream that have no answer yet, in order. A source fills it, and the present connection sends them.
actor IngestQueue {
    /// How many lines one part of the body has.
    private static let mostTogether = 500

    private let window: Int
    private var lines: [[UInt8]] = []
    /// How many of them the present connection has sent.
    private var sent = 0
    private var sourceHasEnded = false
    /// How many lines have their answer.
    private(set) var answers = 0
    /// Why no more lines come, if that is an error.
    private(set) var failure: (any Error)?
    private var isConnected = false
    private var waitingSource: CheckedContinuation<Void, Never>?
    private var waitingSender: CheckedContinuation<Void, Never>?

    /// - Parameter window: how many lines may wait for an answer.
    init(window: Int) {
        self.window = window
    }

    /// Waits for a line without an answer. False: there are no more.
    func hasMore() async -> Bool {
        while lines.isEmpty, !sourceHasEnded { await withCheckedContinuation { waitingSender = $0 } }
        return !lines.isEmpty
    }

    // MARK: The source

    /// Adds a line. Waits while the window is full.
    func add(_ line: [UInt8]) async {
        while lines.count >= window, !sourceHasEnded { await withCheckedContinuation { waitingSource = $0 } }
        lines.append(line)
        wakeSender()
    }

    /// No more lines come.
    func end(_ failure: (any Error)? = nil) {
        sourceHasEnded = true
        self.failure = self.failure ?? failure
        wakeSource()
        wakeSender()
    }

    // MARK: The connection

    /// A new connection begins with the first line that has no answer.
    func connect() {
        sent = 0
        isConnected = true
    }

    /// The connection is over.
    func disconnect() {
        isConnected = false
        wakeSender()
    }

    /// Waits for lines to send. Nil: there are no more, or the connection is over.
    func next() async -> [[UInt8]]? {
        while isConnected, sent == lines.count, !sourceHasEnded {
            await withCheckedContinuation { waitingSender = $0 }
        }
        guard isConnected, sent < lines.count else { return nil }
        let part = lines[sent...].prefix(Self.mostTogether)
        sent += part.count
        return Array(part)
    }

    /// The first line has its answer.
    ///
    /// - Returns: False if nothing waits for an answer.
    func answered() -> Bool {
        guard sent > 0 else { return false }
        lines.removeFirst()
        sent -= 1
        answers += 1
        wakeSource()
        return true
    }

    private func wakeSource() {
        waitingSource?.resume()
        waitingSource = nil
    }

    private func wakeSender() {
        waitingSender?.resume()
        waitingSender = nil
    }
}
