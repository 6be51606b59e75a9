package import ActivityModel

/// What one listener stands for.
package struct ListenerRole: Sendable, Hashable, CustomStringConvertible {
    package let environment: APNSEnvironment
    package let api: AppleAPI

    package init(_ environment: APNSEnvironment, _ api: AppleAPI) {
        self.environment = environment
        self.api = api
    }

    /// Both environments with all three APIs.
    package static let all = [APNSEnvironment.sandbox, .production].flatMap { environment in
        AppleAPI.allCases.map { ListenerRole(environment, $0) }
    }

    package var description: String { "\(environment.rawValue) \(api.rawValue)" }
}
