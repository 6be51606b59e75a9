import APITypes
import ActivityModel

/// Which operations of a batch may be carried out together. Pure.
///
/// Those that concern one activity or one device keep their order, wave after wave. Within a wave, changes and reports
/// are carried out in the order of their coming by whoever takes them, so any number of either may concern the same
/// activity.
struct BatchWaves {
    private enum Subject: Hashable {
        case activity(ActivityID)
        case device(DeviceID)
    }

    private enum Kind: Hashable {
        case start, change, device, report

        /// Whether one wave may hold several operations on the same subject.
        var keepsOrder: Bool { self == .change || self == .report }
    }

    /// The places of operations in the batch, in ascending order in each wave.
    private(set) var waves: [[Int]] = []

    /// - `places`: of the operations that are carried out, ascending.
    init<Operations: RandomAccessCollection<BatchOperation>>(
        _ operations: Operations,
        at places: [Int]
    ) where Operations.Index == Int {
        // Most batches have only changes, or only reports.
        if let first = places.first.map({ Self.kind(of: operations[$0]) }), first.keepsOrder,
            places.allSatisfy({ Self.kind(of: operations[$0]) == first })
        {
            waves = [places]
            return
        }
        var newest: [Subject: (kind: Kind, wave: Int)] = [:]
        for place in places {
            let (kind, subjects) = (Self.kind(of: operations[place]), Self.subjects(of: operations[place]))
            let wave =
                subjects.map { subject in
                    guard let before = newest[subject] else { return 0 }
                    return before.kind == kind && kind.keepsOrder ? before.wave : before.wave + 1
                }.max() ?? 0
            for subject in subjects { newest[subject] = (kind, wave) }
            if wave == waves.count { waves.append([]) }
            waves[wave].append(place)
        }
    }

    private static func kind(of operation: BatchOperation) -> Kind {
        switch operation.work {
        case .start: .start
        case .update, .end: .change
        case .device: .device
        case .subscription: .report
        }
    }

    private static func subjects(of operation: BatchOperation) -> [Subject] {
        switch operation.work {
        case .start(let id, _), .update(let id, _), .end(let id, _): [.activity(id)]
        case .device(let id, _): [.device(id)]
        case .subscription(let id, let device, _): [.activity(id), .device(device)]
        }
    }
}
