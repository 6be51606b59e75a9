import ServiceLifecycle
import Store

/// Resumes the ``Rejudgement`` of types whose daemon has died.
struct RejudgementDuty: Service, CustomStringConvertible {
    let registry: Registry

    private static let interval = Duration.seconds(5)

    var description: String { "rejudgement-duty" }

    func run() async {
        await repeating("judge the activities of changed types", every: Self.interval, logger: registry.store.logger) {
            try await Rejudgement.goOn(registry)
        }
    }
}
