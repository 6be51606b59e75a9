package import ActivityModel

/// Apple's hosts, for who asks whether they can be reached.
package protocol APNSHosts: Sendable {
    /// Where an API listens.
    func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint

    /// Connects to an API as pushes do and hangs up, without a request. It returns by its deadline.
    func reach(_ environment: APNSEnvironment, _ api: APNSAPI, deadline: Duration) async -> ReachabilityOutcome
}
