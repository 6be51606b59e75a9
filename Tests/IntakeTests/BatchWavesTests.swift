import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import Intake

@Suite("Waves of a batch")
struct BatchWavesTests {
    private static func activity(_ text: String) -> ActivityID { ActivityID(stored: text) }

    private static func start(_ id: String) -> BatchOperation {
        BatchOperation(
            .start(
                activity(id),
                StartRequest(type: World.game, attributes: JSONObject(), contentState: World.state(0))
            )
        )
    }

    private static func update(_ id: String) -> BatchOperation {
        BatchOperation(.update(activity(id), UpdateRequest(contentState: World.state(1))))
    }

    private static func device(_ id: String) -> BatchOperation {
        BatchOperation(.device(DeviceID(stored: id), DeviceRequest(environment: .production)))
    }

    private static func report(_ id: String, _ device: String) -> BatchOperation {
        BatchOperation(.subscription(activity(id), DeviceID(stored: device), SubscriptionRequest(.channel)))
    }

    @Test("Changes of one activity and reports of one device share a wave, for they keep their order there")
    func together() {
        #expect(waves([Self.update("a"), Self.update("b"), Self.update("a")]) == [[0, 1, 2]])
        #expect(waves([Self.report("a", "d1"), Self.report("a", "d2"), Self.report("b", "d1")]) == [[0, 1, 2]])
    }

    @Test("Whatever else concerns the same activity or device waits for what stands before it")
    func inOrder() {
        let operations = [
            Self.start("a"), Self.update("a"), Self.report("a", "d1"), Self.device("d1"), Self.device("d1"),
            Self.update("b"), Self.update("a"),
        ]
        #expect(waves(operations) == [[0, 5], [1], [2], [3, 6], [4]])
    }

    @Test("What is left out holds up nobody")
    func leftOut() {
        let operations = [Self.start("a"), Self.update("a"), Self.update("b"), Self.report("a", "d1")]
        #expect(BatchWaves(operations, at: [1, 3]).waves == [[1], [3]])
        #expect(BatchWaves(operations, at: [3]).waves == [[3]])
        #expect(BatchWaves(operations, at: []).waves.isEmpty)
    }

    @Test(
        "Every operation is in one wave, and two of a kind that keeps no order never share a subject",
        arguments: 1...20
    )
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let operations = (0..<60).map { _ -> BatchOperation in
            let (id, device) = ("\(Int.random(in: 0...3, using: &random))", "d\(Int.random(in: 0...3, using: &random))")
            return switch Int.random(in: 0...3, using: &random) {
            case 0: Self.start(id)
            case 1: Self.update(id)
            case 2: Self.device(device)
            default: Self.report(id, device)
            }
        }
        let waves = waves(operations)
        #expect(waves.flatMap { $0 }.sorted() == Array(operations.indices))
        #expect(waves.allSatisfy { $0 == $0.sorted() })
        let wave = Dictionary(waves.enumerated().flatMap { wave, places in places.map { ($0, wave) } }) { first, _ in
            first
        }
        for later in operations.indices {
            for earlier in 0..<later where concernTheSame(operations[earlier], operations[later]) {
                let (first, second) = (wave[earlier] ?? .max, wave[later] ?? .min)
                #expect(first < second || (first == second && mayShare(operations[earlier], operations[later])))
            }
        }
    }

    private func waves(_ operations: [BatchOperation]) -> [[Int]] {
        BatchWaves(operations, at: Array(operations.indices)).waves
    }

    private func subjects(_ operation: BatchOperation) -> Set<String> {
        switch operation.work {
        case .start(let id, _), .update(let id, _), .end(let id, _): ["activity \(id)"]
        case .device(let id, _): ["device \(id)"]
        case .subscription(let id, let device, _): ["activity \(id)", "device \(device)"]
        }
    }

    private func concernTheSame(_ one: BatchOperation, _ other: BatchOperation) -> Bool {
        !subjects(one).isDisjoint(with: subjects(other))
    }

    private func mayShare(_ one: BatchOperation, _ other: BatchOperation) -> Bool {
        switch (one.work, other.work) {
        case (.update, .update), (.subscription, .subscription): true
        default: false
        }
    }
}
