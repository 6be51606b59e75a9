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

    /// `/metrics`. A bound key gets the series of its app.
    static func metrics(_ metrics: PrometheusMetrics, _ access: Access) -> Route {
        Route(.get, "/metrics", access) { call in
            .text(metrics.render(only: call.principal?.app), type: PrometheusMetrics.contentType)
        }
    }
}
