import CoreMetrics
import HTTPTypes
import Hummingbird
import Logging
import Metrics

/// Looks up the route that the router found, for the middleware behind this one, and measures the request.
struct RouteMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    let table: RouteTable
    let metrics: any MetricsFactory

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.route = context.endpointPath.flatMap { table.route(request.method, path: $0) }
        let clock = ContinuousClock()
        let began = clock.now
        let response = try await next(request, context)
        record(request.method, context.route, response.status, began.duration(to: clock.now))
        context.logger.debug(
            "request answered",
            metadata: [
                LogKey.method: .string(request.method.rawValue),
                LogKey.route: .string(context.route?.path ?? MetricLabel.unmatched),
                LogKey.path: .string(request.uri.path),
                LogKey.status: .stringConvertible(response.status.code),
            ]
        )
        return response
    }

    private func record(
        _ method: HTTPRequest.Method,
        _ route: Route?,
        _ status: HTTPResponse.Status,
        _ duration: Duration
    ) {
        // A method of the caller's invention must not become a series of its own.
        let dimensions = [
            ("method", route == nil ? "other" : method.rawValue),
            ("route", route?.path ?? MetricLabel.unmatched),
        ]
        Counter(
            label: MetricLabel.requests,
            dimensions: dimensions + [("status", String(status.code))],
            factory: metrics
        ).increment()
        Timer(label: MetricLabel.requestDuration, dimensions: dimensions, factory: metrics)
            .recordNanoseconds(Int64(clamping: duration / .nanoseconds(1)))
    }
}

extension Int64 {
    fileprivate init(clamping value: Double) {
        self = Int64(exactly: value.rounded()) ?? .max
    }
}
