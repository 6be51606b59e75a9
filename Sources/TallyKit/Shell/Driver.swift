import Foundation

/// Does what the machine decides. Everything of Apple's is handed to it as functions, so it runs anywhere.
@MainActor
package final class Driver {
    /// What the driver needs of the world.
    package struct World {
        /// The clock of the phone.
        var now: @MainActor () -> Moment
        /// All that ActivityKit's properties say.
        var read: @MainActor () -> Reading
        /// Ends a card and takes it off the screen.
        var endCard: @MainActor (String) -> Void
        /// Gets a ticket from the app's backend.
        var ticket: @Sendable (TicketRequest) async throws -> Ticket
        /// Sends a report. The answer comes back as an event.
        var send: @MainActor (Report) -> Void
        /// Whether reports are on their way or due, so that iOS should let the app run.
        var busy: @MainActor (Bool) -> Void

        package init(
            now: @escaping @MainActor () -> Moment,
            read: @escaping @MainActor () -> Reading,
            endCard: @escaping @MainActor (String) -> Void,
            ticket: @escaping @Sendable (TicketRequest) async throws -> Ticket,
            send: @escaping @MainActor (Report) -> Void,
            busy: @escaping @MainActor (Bool) -> Void
        ) {
            self.now = now
            self.read = read
            self.endCard = endCard
            self.ticket = ticket
            self.send = send
            self.busy = busy
        }
    }

    /// A backend that is silent for so long gives no ticket.
    private static let ticketDeadline = Duration.seconds(30)

    private var machine: Machine?
    private let file: MemoryFile
    private let world: World
    private let vendor: String?
    /// Events that came before the memory could be read.
    private var early: [PhoneEvent] = []
    private var timer: Task<Void, Never>?

    /// What keeps Tally from knowing this phone.
    package let problems: AsyncStream<KitProblem>
    private let newProblem: AsyncStream<KitProblem>.Continuation
    /// Cards that have ended.
    package let endings: AsyncStream<CardEnding>
    private let newEnding: AsyncStream<CardEnding>.Continuation

    package init(file: MemoryFile, vendor: String?, world: World) {
        self.file = file
        self.vendor = vendor
        self.world = world
        (problems, newProblem) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
        (endings, newEnding) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    }

    /// What is kept; nil while it cannot be read.
    package var memory: Memory? { machine?.memory }

    /// Takes an event. Before the first unlock after a restart of the phone, it waits.
    package func take(_ event: PhoneEvent) {
        var events = [event]
        if machine == nil {
            early.append(event)
            guard open() else { return }
            events = early
            early = []
        }
        while !events.isEmpty, machine != nil {
            // It is there: nothing takes it away.
            for action in machine?.handle(events.removeFirst(), at: world.now()) ?? [] {
                if let answer = perform(action) { events.append(answer) }
            }
        }
        world.busy(machine?.isBusy ?? false)
    }

    private func open() -> Bool {
        do {
            machine = Machine(memory: try file.load(), vendor: vendor, random: SystemRandomNumberGenerator())
            return true
        } catch {
            newProblem.yield(KitProblem(.stateLost, detail: "cannot be read"))
            return false
        }
    }

    private func perform(_ action: Action) -> PhoneEvent? {
        switch action {
        case .save: save()
        case .read: return .read(world.read())
        case .getTicket(let request): getTicket(request)
        case .send(let report):
            world.send(report)
            return .sent(report.number)
        case .endCard(let card): world.endCard(card)
        case .wake(let moment): wake(at: moment)
        case .problem(let problem): newProblem.yield(problem)
        case .ended(let ending): newEnding.yield(ending)
        }
        return nil
    }

    private func save() {
        guard let memory = machine?.memory else { return }
        do {
            try file.save(memory)
        } catch {
            newProblem.yield(KitProblem(.stateLost, detail: "cannot be written"))
        }
    }

    private func wake(at moment: Moment?) {
        timer?.cancel()
        guard let moment else { return }
        let pause = max(0, moment - world.now())
        timer = Task { [weak self] in
            do { try await Task.sleep(for: .seconds(pause)) } catch { return }
            self?.take(.timer)
        }
    }

    private func getTicket(_ request: TicketRequest) {
        let ticket = world.ticket
        Task {
            let event: PhoneEvent
            do {
                let got = try await Self.within(Self.ticketDeadline) { try await ticket(request) }
                event = .ticket(got, for: request, failure: nil)
            } catch {
                event = .ticket(nil, for: request, failure: "\(error)")
            }
            self.take(event)
        }
    }

    /// The result of the work, or an error if it takes too long.
    private static func within<Result: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw URLError(.timedOut)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}
