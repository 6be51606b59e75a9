package import ActivityModel

/// What came with which iOS, as far as Live Activity pushes go.
package enum SystemFeature: Sendable, CaseIterable {
    /// `event: start` to a push-to-start token: iOS 17.2.
    case pushToStart
    /// Broadcast channels: iOS 18.
    case channels

    /// True if the system has the feature.
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
