import FoundationEssentials
package import Postgres

extension Orchestrator {
    /// What accepting a change and sending it to a few phones runs, of no changes; for
    /// ``Database/Configuration/plannedAhead``. To plan one of these takes longer than to run it a hundred times.
    package static var frequentStatements: [Query] {
        let daemon = UUID()
        return [ActivityFacts.selection([])] + ChangeGroup.statementsOfNone(for: daemon) + [
            SmallRing.selection([], of: daemon), SegmentStore.completion([]),
        ]
    }
}
