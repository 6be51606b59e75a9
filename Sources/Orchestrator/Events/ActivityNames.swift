import ActivityModel

/// An activity by its key, and by the names under which it is told of.
struct ActivityNames: Sendable, Hashable {
    let key: Int64
    let app: BundleID
    let environment: APNSEnvironment
    let id: ActivityID

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension ActivitySnapshot {
    var names: ActivityNames {
        ActivityNames(key: key, app: bundleID, environment: environment, id: activityID)
    }
}
