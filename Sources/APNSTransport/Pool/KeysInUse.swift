internal import ActivityModel

/// The key that each app currently signs with. It is pure.
///
/// An app has one key per environment. If it uses another one, its operator has changed the key. Connections with the
/// old key are then useless, unless another app still uses it.
struct KeysInUse {
    private struct Owner: Hashable {
        let app: BundleID
        let environment: APNSEnvironment
    }

    private var identities: [Owner: SigningIdentity] = [:]

    /// Records that `app` now signs with `identity`.
    mutating func use(_ identity: SigningIdentity, app: BundleID, environment: APNSEnvironment) {
        let owner = Owner(app: app, environment: environment)
        // A comparison is cheaper than a write, and the key rarely changes.
        if identities[owner] != identity {
            identities[owner] = identity
        }
    }

    /// Whether any app in `environment` signs with `identity`.
    func contains(_ identity: SigningIdentity, environment: APNSEnvironment) -> Bool {
        identities.contains { $0.key.environment == environment && $0.value == identity }
    }
}
