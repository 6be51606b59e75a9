import JSON

/// Whether the daemon can do its work, for `/health/ready`.
struct Readiness: Hashable {
    /// False takes the daemon out of a load balancer: 503.
    let isReady: Bool
    /// What operators should look at; a daemon that is ready works all the same.
    let warnings: [String]

    private init(isReady: Bool, warnings: [String]) {
        self.isReady = isReady
        self.warnings = warnings
    }

    /// Asks the service, which can do nothing while its database is away.
    init(of service: any TallyService) async {
        do {
            self.init(isReady: true, warnings: try await service.warnings())
        } catch {
            self.init(isReady: false, warnings: ["The database cannot be reached."])
        }
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
