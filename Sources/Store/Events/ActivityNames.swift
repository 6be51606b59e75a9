package import ActivityModel

/// An activity by its key, and by the names under which it is told of.
package struct ActivityNames: Sendable, Hashable {
    package let key: Int64
    package let app: BundleID
    package let environment: APNSEnvironment
    package let id: ActivityID

    package init(key: Int64, app: BundleID, environment: APNSEnvironment, id: ActivityID) {
        self.key = key
        self.app = app
        self.environment = environment
        self.id = id
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
