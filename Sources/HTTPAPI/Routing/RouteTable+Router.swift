import APITypes
import CoreMetrics
import Hummingbird

extension RouteTable {
    /// Every route of the API.
    static func api(
        service: any TallyService,
        metrics: PrometheusMetrics,
        limiter: RateLimiter? = nil,
        readiness: @escaping @Sendable () async -> Readiness
    ) -> RouteTable {
        RouteTable(
            Route.health(readiness: readiness)
                + [Route.metrics(metrics), Route.openAPI]
                + Route.apps(service)
                + Route.apiKeys(service)
                + Route.audit(service)
                + Route.types(service)
                + Route.devices(service)
                + Route.tickets(service)
                + Route.activities(service)
                + Route.subscriptions(service)
                + Route.pushes(service)
                + Route.batch(service, limiter)
                + Route.channels(service)
                + Route.schedules(service)
                + Route.doctor(service)
                + Route.events(service, metrics: metrics)
        )
    }

    /// The routes behind the middleware that all of them share, outermost first.
    func router(
        service: any TallyService,
        metrics: any MetricsFactory,
        maximumBodySize: Int,
        limiter: RateLimiter? = nil
    ) -> Router<RouteContext> {
        let router = Router(context: RouteContext.self)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: RouteMiddleware(table: self, metrics: metrics))
        router.add(middleware: ProblemMiddleware(outage: { service.problem(for: $0) }))
        router.add(middleware: LimitsMiddleware(maximumBodySize: maximumBodySize))
        router.add(middleware: AuthenticationMiddleware(authenticate: { try await service.authenticate(secret: $0) }))
        router.add(middleware: RateLimitMiddleware(limiter: limiter))
        router.add(middleware: AccessMiddleware(table: self))
        for route in routes {
            router.on(
                RouterPath(route.path),
                method: route.method,
                responder: RouteResponder(route: route, maximumBodySize: maximumBodySize)
            )
        }
        return router
    }
}
