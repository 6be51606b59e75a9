import APITypes
import HTTPTypes
import JSON
import Registry

extension Route {
    /// `/health/live`: the process runs. `/health/ready`: it can do its work.
    static func health(_ service: any TallyService, _ drain: Drain) -> [Route] {
        [
            Route(.get, "/health/live", .open) { _ in
                .json(["status": "live"])
            },
            Route(.get, "/health/ready", .open) { _ in
                let state = drain.isBegun ? .stopping : await Readiness(of: service)
                return .json(state.json, status: state.isReady ? .ok : .serviceUnavailable)
            },
        ]
    }

    /// `/metrics` for a key with the scope `read`. A bound key gets the series of its app.
    static func metrics(_ metrics: PrometheusMetrics) -> Route {
        exposition(metrics, .scope(.read))
    }

    /// `/metrics` on its own listener, without a key.
    static func openMetrics(_ metrics: PrometheusMetrics) -> Route {
        exposition(metrics, .open)
    }

    private static func exposition(_ metrics: PrometheusMetrics, _ access: Access) -> Route {
        Route(.get, "/metrics", access) { call in
            .text(metrics.render(only: call.principal?.app), type: PrometheusMetrics.contentType)
        }
    }
}
