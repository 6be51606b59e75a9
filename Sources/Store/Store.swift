package import Logging
package import Postgres
package import ServiceLifecycle

/// The room below all others: what every room writes, and what every room needs to write it.
///
/// Start here for events, the timeline, the audit log, kept answers, signing keys, and the SQL that several rooms share.
///
/// - **What it does.** Each folder has one subject.
///   - `Events`, `Timeline`, `Audit`: what happened.
///   - `Requests`: kept answers to requests with an `Idempotency-Key`, page cursors, traces.
///   - `Signing`: opens and seals signing keys.
///   - `Segments`: the statements by which other rooms give the sender work, and by which it leases the work.
///   - `Fragments`: the conditions that several rooms read by.
///   - `Database`: translates between rows and values, and forgets old rows.
/// - **Who calls it.** All rooms. It calls none of them.
/// - **Tables that it alone writes.** `events`, `timeline`, `audit_log`, `idempotency_keys`, `provider_tokens`,
///   `segments`, `wake_ups`. `TimelineErasure` deletes the rows of deleted devices in
///   `events` and `timeline`.
///
/// One value for the whole daemon, handed to each room.
package struct Store: Sendable {
    package let database: Database
    /// Seal signing keys at rest and sign tickets.
    package let masterKeys: MasterKeys
    /// What the operator has set, and the clock.
    package let settings: OrchestratorSettings
    package let logger: Logger
    /// Opens the keys that pushes are signed with.
    package let signing: SigningIdentities
    /// Takes down what became of pushes.
    package let timeline: Timeline
    /// Knows when it was last reported that the database's clock stepped back.
    package let skews = ClockSkewWatch()
    /// Knows whether the master key opens the signing keys.
    package let masterKeyWatch = MasterKeyWatch()
    /// Knows where APNs refuses this daemon's key, team, topic or capability.
    package let credentials = CredentialRefusals()

    package init(database: Database, masterKeys: MasterKeys, settings: OrchestratorSettings, logger: Logger) {
        self.database = database
        self.masterKeys = masterKeys
        self.settings = settings
        self.logger = logger
        signing = SigningIdentities(database: database, masterKeys: masterKeys)
        timeline = Timeline(database: database)
    }

    /// Writes what the timeline has taken down. It has to stop after everything that records.
    package var timelineWriter: any Service {
        TimelineWriter(timeline: timeline, database: database, logger: logger)
    }

    /// What the store does in the background: it makes and drops partitions, forgets old rows, and tries the master key.
    /// When the master key changes, it seals all secrets again, also those of the rooms above.
    package func duties(sealing secrets: [SealedSecrets]) -> [any Service] {
        [
            ExpiryDuty(store: self),
            PartitionDuty(store: self),
            MasterKeyCheck(store: self),
            MasterKeyRotation(database: database, keys: masterKeys, secrets: secrets, logger: logger),
        ]
    }
}
