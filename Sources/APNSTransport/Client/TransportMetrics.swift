internal import ActivityModel
internal import Metrics

/// What the transport tells of itself, recorded once per batch. Belongs to the transport's loop.
final class TransportMetrics {
    private struct Answer: Hashable {
        let status: String
        let reason: String
    }

    private struct Label: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
        let answer: Answer
    }

    private struct Route: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
    }

    private var counters: [Label: Counter] = [:]
    private var timers: [Route: Timer] = [:]
    private var gauges: [APNSEnvironment: Gauge] = [:]
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Counts the outcomes of a completed work and records its measured latencies.
    func record(_ work: Work, environment: APNSEnvironment) {
        let api = work.head.kind.api
        var counts: [Answer: Int] = [:]
        if work.ledger.accepted > 0 {
            counts[Answer(status: String(work.head.kind.successStatus), reason: "")] = work.ledger.accepted
        }
        for exception in work.ledger.exceptions {
            counts[Self.answer(exception.outcome), default: 0] += 1
        }
        for (answer, count) in counts {
            counter(Label(environment: environment, api: api, answer: answer)).increment(by: count)
        }
        guard !work.latencies.isEmpty else {
            return
        }
        let timer = timer(Route(environment: environment, api: api))
        for latency in work.latencies {
            timer.record(duration: latency)
        }
    }

    /// Tells how many connections there are in `environment`, those being opened or closed included.
    func setConnections(_ count: Int, environment: APNSEnvironment) {
        let gauge =
            gauges[environment]
            ?? Gauge(
                label: "tally_apns_connections",
                dimensions: [("environment", environment.rawValue)],
                factory: factory
            )
        gauges[environment] = gauge
        gauge.record(count)
    }

    /// Reasons that we do not know are one label: what a peer writes must not make new time series.
    private static func answer(_ outcome: PushOutcome) -> Answer {
        let reason = outcome.reason.map { AnswerRules.knownReasons.contains($0) ? $0 : "other" } ?? ""
        guard let status = outcome.status else {
            return Answer(status: "none", reason: reason.isEmpty ? outcome.class.name : reason)
        }
        return Answer(status: String(status), reason: reason)
    }

    private func counter(_ label: Label) -> Counter {
        if let counter = counters[label] {
            return counter
        }
        let counter = Counter(
            label: "tally_apns_responses_total",
            dimensions: [
                ("environment", label.environment.rawValue), ("api", label.api.rawValue),
                ("status", label.answer.status), ("reason", label.answer.reason),
            ],
            factory: factory
        )
        counters[label] = counter
        return counter
    }

    private func timer(_ route: Route) -> Timer {
        if let timer = timers[route] {
            return timer
        }
        let timer = Timer(
            label: "tally_apns_request_seconds",
            dimensions: [("environment", route.environment.rawValue), ("api", route.api.rawValue)],
            factory: factory
        )
        timers[route] = timer
        return timer
    }
}
