import ActivityModel
import Postgres

/// What small segments have sent, and how it is put on record.
///
/// Of nearly all changes nothing is written: their segment has completed them, and that tells. A change of another kind is
/// marked as sent. So is one whose lease is lost. Otherwise whoever has the segment now could tell of it as merged.
struct SentChanges {
    struct Change {
        let activityKey: Int64
        let revision: Revision
        /// ``ChangeToSend/isSentWithSegment``.
        let isSentWithSegment: Bool
    }

    private let changes: [Change]

    /// In the order of the activities' keys.
    init(_ changes: [Change]) {
        self.changes = changes
    }

    /// The statements before the one that stores how far the segments have come.
    var marks: [Query] { ChangeStore.markSent(changes.filter { !$0.isSentWithSegment }) }

    /// The outcome of the statement that ends the leases. It returns a row for each that was not lost: the key of the
    /// activity, and whether its segment is due now.
    struct Outcome {
        let areSomeDue: Bool
        /// The statements for the others.
        let marks: [Query]
    }

    func outcome(_ rows: Rows?) throws -> Outcome {
        let ended = try rows?.decoded(as: (Int64, Bool).self) ?? []
        let areSomeDue = ended.contains { $0.1 }
        guard ended.count < changes.count else { return Outcome(areSomeDue: areSomeDue, marks: []) }
        let keys = Set(ended.map(\.0))
        let lost = changes.filter { $0.isSentWithSegment && !keys.contains($0.activityKey) }
        return Outcome(areSomeDue: areSomeDue, marks: ChangeStore.markSent(lost))
    }
}

extension ChangeToSend {
    /// The change as it is put on record by the holder of a lease.
    func sent(of lease: SegmentLease) -> SentChanges.Change {
        SentChanges.Change(activityKey: lease.activityKey, revision: revision, isSentWithSegment: isSentWithSegment)
    }
}
