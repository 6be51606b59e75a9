package import ActivityModel

/// The environment and the API of one listener.
package struct ListenerRole: Sendable, Hashable, CustomStringConvertible {
    package let environment: APNSEnvironment
    package let api: AppleAPI

    package init(_ environment: APNSEnvironment, _ api: AppleAPI) {
        self.environment = environment
        self.api = api
    }

    /// All three APIs in both environments.
    package static let all = [APNSEnvironment.sandbox, .production].flatMap { environment in
        AppleAPI.allCases.map { ListenerRole(environment, $0) }
    }

    package var description: String { "\(environment.rawValue) \(api.rawValue)" }
}
