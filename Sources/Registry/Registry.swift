import Cryptography
import Postgres
package import ServiceLifecycle
package import Store
import SwiftImporter

/// The room of the registry: apps, keys, types, devices, users and topics.
///
/// - **What it does.** Each folder has one subject. Its operations are in the extensions of this type.
///   - `Apps`: apps with their signing keys.
///   - `Types`: compiled schemas, policies, and whether content fits them.
///   - `Devices`: what apps report of their installations, and what is forgotten of a device.
///   - `Credentials`: API keys, tickets with which an app may report one device, and who a caller is.
///   - `Topics`: which users and devices follow which topics.
///   - `Versions`: how a type gets a new version, what that means to what runs, and which app versions follow an
///     activity.
/// - **Who calls it.** The HTTP API. Accepting and sending ask it for types (``typeContext(_:_:)``).
///   It calls none of them. What a change means to activities and cards, an ``ActivityKeeper`` carries out.
/// - **Tables that it alone writes.** `apps`, `api_keys`, `signing_keys`, `activity_types`, `type_versions`,
///   `rejudgements`, `activity_app_versions`, `devices`, `start_tokens`, `topic_follows`, `ticket_keys`,
///   `ticket_revocations`. Rooms above take its statements, such as those of ``DeviceRows``, into their own.
///
/// One for the whole daemon.
package final class Registry: Sendable {
    let store: Store
    /// What time it is where tickets are over.
    let clock: DatabaseClock
    /// Tells the sending half that there is work.
    let wake: @Sendable () -> Void
    let caches = RegistryCaches()
    let tickets: TicketSeal
    /// The SHA-256 of the bootstrap key, if there is one.
    let bootstrapHash: [UInt8]?
    let importer = SwiftImporter()
    /// Finds app versions that nobody uses any more.
    package let versionUse: VersionUse
    let topicCounter: TopicCounter

    /// - Parameters:
    ///   - store: What is written, and how.
    ///   - clock: Says whether a ticket is over.
    ///   - wake: Tells the sending half that there is work. It is called after the commit.
    package init(store: Store, clock: DatabaseClock, wake: @escaping @Sendable () -> Void) {
        self.store = store
        self.clock = clock
        self.wake = wake
        tickets = TicketSeal(keys: store.masterKeys)
        bootstrapHash = store.settings.bootstrapKey.map { SHA256.hash($0) }
        versionUse = VersionUse(
            database: store.database,
            pageSize: store.settings.stretchSize,
            lastFollowers: ExpiringCache(lifetime: .seconds(60), limit: 10_000) { ContinuousClock().now }
        )
        topicCounter = TopicCounter(
            database: store.database,
            pageSize: 25 * store.settings.stretchSize,
            now: { [settings = store.settings] in settings.now() }
        )
    }

    /// Goes on with what a daemon that died has left of a type's change, until the daemon stops.
    package var duty: any Service { RejudgementDuty(registry: self) }

    /// Forgets old revocations of tickets, until the daemon stops.
    package var expiry: any Service { RevocationExpiry(store: store) }

    var database: Database { store.database }
    var masterKeys: MasterKeys { store.masterKeys }
    var settings: OrchestratorSettings { store.settings }
}
