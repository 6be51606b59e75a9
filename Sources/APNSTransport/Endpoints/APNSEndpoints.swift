package import ActivityModel

/// Where Apple's three APIs listen, per environment.
package struct APNSEndpoints: Sendable, Hashable {
    private struct Key: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
    }

    private var overrides: [Key: APNSEndpoint] = [:]

    /// Apple's own hosts.
    package init() {}

    /// The endpoint of `api` in `environment`.
    package subscript(environment: APNSEnvironment, api: APNSAPI) -> APNSEndpoint {
        get { overrides[Key(environment: environment, api: api)] ?? Self.standard(environment, api) }
        set { overrides[Key(environment: environment, api: api)] = newValue }
    }

    /// Replaces one endpoint by `https://host:port`; an error names `name`, the setting that it came from.
    ///
    /// Apple answers to pushes on port 2197 as well, for firewalls that let nothing else through ("Sending notification
    /// requests to APNs"): `https://api.push.apple.com:2197`.
    ///
    /// A device host that is replaced does not take broadcasts along: each of the three is a setting of its own.
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
    /// Broadcasts go to the ordinary host: Apple's pages contradict each other, and the answers that senders recorded
    /// came from it. Channel management has a host of its own, and a port that differs by environment.
    package static func standard(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        switch (environment, api) {
        case (.production, .device), (.production, .broadcast): APNSEndpoint(host: "api.push.apple.com")
        case (.sandbox, .device), (.sandbox, .broadcast): APNSEndpoint(host: "api.sandbox.push.apple.com")
        case (.production, .channels): APNSEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case (.sandbox, .channels): APNSEndpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
