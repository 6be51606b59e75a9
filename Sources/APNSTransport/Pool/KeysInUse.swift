internal import ActivityModel

/// Which key each app signs with now. Pure.
///
/// An app has one key in an environment. When it turns up with another, its operator has changed the key, and
/// connections that were made with the old one serve nobody unless another app has it too.
struct KeysInUse {
    private struct Owner: Hashable {
        let app: BundleID
        let environment: APNSEnvironment
    }

    private var identities: [Owner: SigningIdentity] = [:]

    /// `app` signs with `identity` from now on.
    mutating func use(_ identity: SigningIdentity, app: BundleID, environment: APNSEnvironment) {
        let owner = Owner(app: app, environment: environment)
        // To compare is cheaper than to store: it is nearly always the same.
        if identities[owner] != identity {
            identities[owner] = identity
        }
    }

    /// Whether any app of `environment` signs with `identity`.
    func contains(_ identity: SigningIdentity, environment: APNSEnvironment) -> Bool {
        identities.contains { $0.key.environment == environment && $0.value == identity }
    }
}
