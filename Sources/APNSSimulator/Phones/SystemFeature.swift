package import ActivityModel

/// Features for Live Activity pushes, each with its first iOS version.
package enum SystemFeature: Sendable, CaseIterable {
    /// `event: start` to a push-to-start token: iOS 17.2.
    case pushToStart
    /// Broadcast channels: iOS 18.
    case channels

    /// Whether this iOS version has the feature.
    package func isPresent(in version: OSVersion) -> Bool {
        version >= minimum
    }

    private var minimum: OSVersion {
        switch self {
        case .pushToStart: OSVersion(17, 2)
        case .channels: OSVersion(18)
        }
    }
}
