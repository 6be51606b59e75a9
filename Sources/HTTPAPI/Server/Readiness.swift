import JSON
import Store

/// Whether the daemon can do its work, for `/health/ready`.
struct Readiness: Hashable {
    /// If false, `/health/ready` answers 503 and load balancers skip the daemon.
    let isReady: Bool
    /// Warnings for operators. A ready daemon may have some.
    let warnings: [String]

    private init(isReady: Bool, warnings: [String]) {
        self.isReady = isReady
        self.warnings = warnings
    }

    /// Asks the service. It is not ready while its database is unavailable or read-only.
    init(of service: any TallyService) async {
        do {
            self.init(isReady: true, warnings: try await service.deliveryStore.warnings())
        } catch {
            self.init(isReady: false, warnings: [Store.obstacle(error)])
        }
    }

    /// The daemon is stopping. It still answers requests, but new ones should go to another daemon.
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
