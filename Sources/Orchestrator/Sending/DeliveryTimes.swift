import APNSTransport
import ActivityModel
import Metrics
import Synchronization

/// Tells the metrics system how long changes take to reach APNs: from their accept to the answer that took them.
///
/// Recorded once for pushes that left together, so that it costs a large ring nothing. What goes to a card alone,
/// because it failed before or the card has joined late, says nothing of it and is not counted.
final class DeliveryTimes: Sendable {
    private struct Label: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
        let urgency: Urgency
    }

    private let factory: any MetricsFactory
    private let timers = Mutex<[Label: Timer]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Pushes of a change have just been answered, and some of them were taken.
    func record(_ change: ChangeToSend, in environment: APNSEnvironment, by api: APNSAPI) {
        let timer = timer(Label(environment: environment, api: api, urgency: change.urgency))
        timer.record(duration: change.acceptedAt.duration(to: .now))
    }

    private func timer(_ label: Label) -> Timer {
        timers.withLock { timers in
            if let timer = timers[label] { return timer }
            let timer = Timer(
                label: "tally_delivery_seconds",
                dimensions: [
                    ("environment", label.environment.rawValue), ("api", label.api.rawValue),
                    ("urgency", label.urgency.rawValue),
                ],
                factory: factory
            )
            timers[label] = timer
            return timer
        }
    }
}
