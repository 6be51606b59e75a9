package import APNSTransport
package import ActivityModel
import Metrics
import Synchronization

/// Tells the metrics system how long changes take to reach APNs, from their accept to the answer that took them, and how
/// long until cards show them.
///
/// A delivery is recorded once for pushes that left together, so that it costs a large ring nothing. A push to one card
/// alone, because an earlier one failed or the card joined late, is no measure of it and is not counted.
package final class DeliveryTimes: Sendable {
    private struct Label: Hashable {
        let name: String
        let environment: APNSEnvironment
        /// Nil if it measures no call.
        let api: APNSAPI?
        let urgency: Urgency

        var dimensions: [(String, String)] {
            [("environment", environment.rawValue)] + (api.map { [("api", $0.rawValue)] } ?? [])
                + [("urgency", urgency.rawValue)]
        }
    }

    private let factory: any MetricsFactory
    private let timers = Mutex<[Label: Timer]>([:])

    /// A revision that a card was seen to show.
    package struct Shown: Sendable, Hashable {
        let environment: APNSEnvironment
        let urgency: Urgency
        /// From the accept of the revision.
        let delay: Duration

        package init(environment: APNSEnvironment, urgency: Urgency, delay: Duration) {
            self.environment = environment
            self.urgency = urgency
            self.delay = delay
        }
    }

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Pushes of a change have just been answered, and some of them were taken.
    package func record(_ change: ChangeToSend, in environment: APNSEnvironment, by api: APNSAPI) {
        let label = Label(name: "tally_delivery_seconds", environment: environment, api: api, urgency: change.urgency)
        timer(label).record(duration: change.acceptedAt.duration(to: .now))
    }

    /// An app saw a revision on a card.
    package func record(_ shown: Shown) {
        let label = Label(
            name: "tally_shown_seconds",
            environment: shown.environment,
            api: nil,
            urgency: shown.urgency
        )
        timer(label).record(duration: shown.delay)
    }

    private func timer(_ label: Label) -> Timer {
        timers.withLock { timers in
            if let timer = timers[label] { return timer }
            let timer = Timer(label: label.name, dimensions: label.dimensions, factory: factory)
            timers[label] = timer
            return timer
        }
    }
}
