@testable import LibPQ
import Testing

@Suite("What the answers of a pipeline mean")
struct PipelineReaderTests {
    private typealias Event = PipelineReader.Event
    private typealias Action = PipelineReader.Action

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let commands: [PipelineReader.Command]
        let events: [PipelineReader.Event]
        let actions: [PipelineReader.Action]
    }

    static let cases = [
        Case(
            testDescription: "two statements, the first one new",
            commands: [.prepare("s1"), .execute(0), .execute(1), .sync],
            events: [
                .result(.command), .end, .result(.tuples), .end, .result(.command), .end, .result(.pipelineSync),
            ],
            actions: [.prepared("s1"), .goOn, .deliver(0), .goOn, .deliver(1), .goOn, .finish]
        ),
        Case(
            testDescription: "a failure in the middle",
            commands: [.execute(0), .execute(1), .prepare("s2"), .execute(2), .sync],
            events: [
                .result(.tuples), .end, .result(.error), .end, .result(.pipelineAborted), .end,
                .result(.pipelineAborted), .end, .result(.pipelineSync),
            ],
            actions: [.deliver(0), .goOn, .fail(1), .goOn, .goOn, .goOn, .goOn, .goOn, .finish]
        ),
        Case(
            testDescription: "a statement that cannot be prepared",
            commands: [.prepare("s1"), .execute(0), .sync],
            events: [.result(.error), .end, .result(.pipelineAborted), .end, .result(.pipelineSync)],
            actions: [.fail(0), .goOn, .goOn, .goOn, .finish]
        ),
        Case(
            testDescription: "housekeeping that fails harms nobody",
            commands: [.housekeeping, .sync, .execute(0), .sync],
            events: [
                .result(.error), .end, .result(.pipelineSync), .result(.empty), .end, .result(.pipelineSync),
            ],
            actions: [.goOn, .goOn, .goOn, .deliver(0), .goOn, .finish]
        ),
        Case(
            testDescription: "COPY does not belong into a pipeline",
            commands: [.execute(0), .sync],
            events: [.result(.copyIn)],
            actions: [.confused]
        ),
        Case(
            testDescription: "an end before any result",
            commands: [.execute(0), .sync],
            events: [.end],
            actions: [.confused]
        ),
        Case(
            testDescription: "two results for one statement",
            commands: [.execute(0), .sync],
            events: [.result(.tuples), .result(.tuples)],
            actions: [.deliver(0), .confused]
        ),
        Case(
            testDescription: "a transaction that fails at its end",
            commands: [.execute(0), .sync],
            events: [.result(.command), .end, .result(.error), .end, .result(.pipelineSync)],
            actions: [.deliver(0), .goOn, .fail(nil), .goOn, .finish]
        ),
        Case(
            testDescription: "a transaction that fails at its end, of which libpq says no more",
            commands: [.execute(0), .sync],
            events: [.result(.command), .end, .result(.error), .result(.pipelineSync)],
            actions: [.deliver(0), .goOn, .fail(nil), .finish]
        ),
        Case(
            testDescription: "two failures at the end",
            commands: [.sync],
            events: [.result(.error), .result(.error)],
            actions: [.fail(nil), .confused]
        ),
        Case(
            testDescription: "a result when nothing is owed",
            commands: [.sync],
            events: [.result(.pipelineSync), .result(.tuples)],
            actions: [.finish, .confused]
        ),
    ]

    @Test("Each result is given to the command that it belongs to", arguments: cases)
    func answers(_ example: Case) {
        var reader = PipelineReader(example.commands)
        #expect(example.events.map { reader.received($0) } == example.actions)
    }
}
