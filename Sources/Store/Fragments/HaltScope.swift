package import ActivityModel

/// What a halt is for.
package struct HaltScope: Hashable, Sendable {
    package let app: BundleID
    package let environment: APNSEnvironment

    package init(app: BundleID, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }
}
