import APITypes

extension RouteTable {
    static func api(
        service: any TallyService,
        metrics: PrometheusMetrics,
        limits: RateLimits = RateLimits(requestsPerSecond: nil),
        turns: ReadingTurns = .ofThisMachine(),
        drain: Drain = Drain()
    ) -> RouteTable {
        RouteTable(
            Route.health(service, drain)
                + [Route.metrics(metrics, .scope(.read))]
                + Route.documents
                + Route.apps(service)
                + Route.apiKeys(service.registry)
                + Route.audit(service.record)
                + Route.types(service.registry)
                + Route.devices(service)
                + Route.topics(service)
                + Route.tickets(service.registry)
                + Route.changes(service, turns)
                + Route.activities(service.record)
                + Route.subscriptions(service)
                + Route.pushes(service.intake)
                + Route.batch(service, limits, turns)
                + Route.ingest(service, limits, turns)
                + Route.channels(service)
                + Route.schedules(service)
                + Route.webhooks(service.webhookRoom)
                + Route.doctor(service)
                + Route.events(service, metrics: metrics),
            metrics: metrics
        )
    }

    /// What phones report with their tickets, and nothing else.
    static func phones(service: any TallyService, metrics: PrometheusMetrics) -> RouteTable {
        let reports = (Route.devices(service) + Route.subscriptions(service)).filter { $0.access == .registration }
        return RouteTable(reports.map { $0.limited(to: .ticket) }, metrics: metrics, hidesTheRest: true)
    }
}
