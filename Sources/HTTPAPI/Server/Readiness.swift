import JSON

/// Whether the daemon can do its work, for `/health/ready`.
package struct Readiness: Sendable, Hashable {
    /// False takes the daemon out of a load balancer: 503.
    package var isReady: Bool
    /// What operators should look at; the daemon works all the same.
    package var warnings: [String]

    package init(isReady: Bool, warnings: [String] = []) {
        self.isReady = isReady
        self.warnings = warnings
    }

    /// Told to stop: requests are answered, and new ones should go elsewhere.
    static let stopping = Readiness(isReady: false, warnings: ["The daemon is stopping."])

    var json: JSONValue {
        .object(
            JSONObject([
                ("status", .string(isReady ? "ready" : "unavailable")),
                ("warnings", .array(warnings.map { .string($0) })),
            ])
        )
    }
}
