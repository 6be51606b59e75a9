package import ActivityModel

/// The endpoints of Apple's three APIs, per environment.
package struct APNSEndpoints: Sendable, Hashable {
    private struct Key: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
    }

    private var overrides: [Key: APNSEndpoint] = [:]

    /// Apple's hosts.
    package init() {}

    /// The endpoint of `api` in `environment`.
    package subscript(environment: APNSEnvironment, api: APNSAPI) -> APNSEndpoint {
        get { overrides[Key(environment: environment, api: api)] ?? Self.standard(environment, api) }
        set { overrides[Key(environment: environment, api: api)] = newValue }
    }

    /// Replaces one endpoint by `https://host:port`. `name` is the setting for error messages.
    ///
    /// Apple also accepts pushes on port 2197, for firewalls that block all others ("Sending notification requests to
    /// APNs"): `https://api.push.apple.com:2197`.
    ///
    /// Each of the three endpoints is its own setting. Replacing the device host does not affect broadcasts.
    package mutating func setURL(
        _ url: String,
        environment: APNSEnvironment,
        api: APNSAPI,
        name: String
    ) throws(APNSTransportError) {
        self[environment, api] = try APNSEndpoint(url: url, name: name)
    }

    /// Apple's endpoint.
    ///
    /// Broadcasts use the ordinary host. Apple's pages contradict each other, and senders have recorded answers from
    /// this host. Channel management has its own host and a port per environment.
    package static func standard(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        switch (environment, api) {
        case (.production, .device), (.production, .broadcast): APNSEndpoint(host: "api.push.apple.com")
        case (.sandbox, .device), (.sandbox, .broadcast): APNSEndpoint(host: "api.sandbox.push.apple.com")
        case (.production, .channels): APNSEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case (.sandbox, .channels): APNSEndpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
