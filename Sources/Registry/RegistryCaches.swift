package import ActivityModel
import Store

/// The callers and types that the registry keeps in memory for a moment, so that not every request asks the database.
///
/// Another daemon's change is seen when the lifetime is over; this daemon's own at once.
package final class RegistryCaches: Sendable {
    /// An activity type of an app.
    package struct TypeKey: Hashable, Sendable {
        package let app: BundleID
        package let name: ActivityTypeName

        package init(app: BundleID, name: ActivityTypeName) {
            self.app = app
            self.name = name
        }
    }

    /// Callers by the SHA-256 of their secret. A revoked key may be good for three seconds more on another daemon.
    let principals: ExpiringCache<[UInt8], Principal>
    /// Keys that verify signed tickets, by their ids. A key never changes; whether it is revoked is asked each time.
    let ticketKeys: ExpiringCache<String, AppTicketKey>
    /// Types with their compiled schemas.
    let types: ExpiringCache<TypeKey, TypeContext>

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }) {
        principals = ExpiringCache(lifetime: .seconds(3), limit: 10_000, now: now)
        ticketKeys = ExpiringCache(lifetime: .seconds(60), limit: 1_000, now: now)
        types = ExpiringCache(lifetime: .seconds(1), limit: 1_000, now: now)
    }
}
