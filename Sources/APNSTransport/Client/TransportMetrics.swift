internal import ActivityModel
internal import Metrics

/// The metrics of the transport, recorded once per batch. It belongs to the transport's loop.
final class TransportMetrics {
    private struct Answer: Hashable {
        let status: String
        let reason: String
    }

    private struct Label: Hashable {
        let environment: APNSEnvironment
        let app: BundleID
        let api: APNSAPI
        let answer: Answer
    }

    private struct End: Hashable {
        let environment: APNSEnvironment
        let cause: String
        let reason: String
    }

    private struct Gauges {
        let connections: Gauge
        let streams: Gauge
    }

    private struct Route: Hashable {
        let environment: APNSEnvironment
        let api: APNSAPI
    }

    private var counters: [Label: Counter] = [:]
    private var timers: [Route: Timer] = [:]
    private var ends: [End: Counter] = [:]
    private var gauges: [APNSEnvironment: Gauges] = [:]
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Counts the outcomes of completed work and records its measured latencies.
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
            let label = Label(environment: environment, app: work.head.app, api: api, answer: answer)
            counter(label).increment(by: count)
        }
        guard !work.latencies.isEmpty else {
            return
        }
        let timer = timer(Route(environment: environment, api: api))
        for latency in work.latencies {
            timer.record(duration: latency)
        }
    }

    /// Records the number of connections in `environment`, including those that are opening or closing, and of their
    /// open requests.
    func setConnections(_ connections: Int, streams: Int, environment: APNSEnvironment) {
        let gauges = gauges(environment)
        gauges.connections.record(connections)
        gauges.streams.record(streams)
    }

    /// Counts a connection that accepts no more requests.
    func countEnd(_ cause: RetirementCause, environment: APNSEnvironment) {
        let end = End(
            environment: environment,
            cause: cause.name,
            reason: cause.reason.map(Self.label) ?? ""
        )
        let counter =
            ends[end]
            ?? Counter(
                label: "tally_apns_connection_ends_total",
                dimensions: [
                    ("environment", environment.rawValue), ("cause", end.cause), ("reason", end.reason),
                ],
                factory: factory
            )
        ends[end] = counter
        counter.increment()
    }

    /// All unknown reasons share one label, because a peer must not be able to create new time series.
    private static func label(_ reason: String) -> String {
        AnswerRules.knownReasons.contains(reason) ? reason : "other"
    }

    private static func answer(_ outcome: PushOutcome) -> Answer {
        let reason = outcome.reason.map(label) ?? ""
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
                ("environment", label.environment.rawValue), ("app", label.app.rawValue), ("api", label.api.rawValue),
                ("status", label.answer.status), ("reason", label.answer.reason),
            ],
            factory: factory
        )
        counters[label] = counter
        return counter
    }

    private func gauges(_ environment: APNSEnvironment) -> Gauges {
        if let gauges = gauges[environment] {
            return gauges
        }
        func gauge(_ label: String) -> Gauge {
            Gauge(label: label, dimensions: [("environment", environment.rawValue)], factory: factory)
        }
        let made = Gauges(connections: gauge("tally_apns_connections"), streams: gauge("tally_apns_streams"))
        gauges[environment] = made
        return made
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
