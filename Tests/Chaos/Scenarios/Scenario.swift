import SystemSupport

/// Something that goes wrong under load, and what is allowed to follow from it.
struct Scenario: Sendable {
    /// One word or several with hyphens: what the command line takes.
    let name: String
    /// What happens, in a sentence for the table.
    let story: String
    /// How many daemons share the work.
    var daemons = 1
    /// How the system is set up.
    var options = TallySystem.Options()
    /// Whether it begins with the programs of an earlier version.
    var beginsEarlier = false
    /// How many more phones than usual.
    var crowd = 0
    /// The size of the database's disk in megabytes; nil: the machine's.
    var disk: Int?
    /// What the faults may do to the promises.
    var allowances: Verdict.Allowances = []
    /// With how many seeds a full run plays it, if the command line does not say.
    var times = 3
    /// Whether a short run plays it, once.
    var isShort = false
    /// Why it cannot be played on this machine; nil: it can.
    var obstacle: @Sendable () -> String? = { nil }
    /// Before the load begins.
    var prepare: @Sendable (Stage) async throws -> Void = { _ in }
    /// While the load goes on; when this returns, all faults are over.
    let faults: @Sendable (Stage) async throws -> Void
}

extension Scenario {
    /// All that the tool knows, in the order of the table.
    static let all = daemonScenarios + databaseScenarios + appleScenarios
}
