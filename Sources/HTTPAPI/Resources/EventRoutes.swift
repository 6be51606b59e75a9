import Record
import APITypes
import ActivityModel
import CoreMetrics
import HTTPTypes
import Registry
import Store

extension Route {
    /// `/v1/events`: a live stream of events, or pages of them for callers that accept `application/json`.
    static func events(_ service: any TallyService, metrics: any MetricsFactory) -> [Route] {
        let slots = StreamSlots(.ofDaemon, metrics: metrics)
        let query = paging.union(["bundle_id", "activity_id", "device_id", "kind", "order"])
        return [
            Route(.get, "/v1/events", .scope(.read), query: query) { call in
                let filter = try call.eventFilter()
                var page = try call.page()
                if let last = call.streaming.lastEventID {
                    guard EventCursor(last) != nil else {
                        throw Problem.invalidRequest("'Last-Event-ID' is not an id that the events gave out.")
                    }
                    page.cursor = last
                }
                guard call.streaming.wantsEventStream, let principal = call.principal else {
                    let order = try call.word("order", EventOrder.self) ?? .oldestFirst
                    return .ok(try await service.record.events(matching: filter, order: order, page))
                }
                let slot = try slots.take(for: principal)
                let stream = EventStream(
                    service: service,
                    filter: filter,
                    start: try await service.record.eventPlace(page.cursor),
                    principal: principal,
                    terms: call.streaming,
                    times: EventStream.Times()
                )
                // Without `no`, nginx buffers events until its buffer is full.
                return RouteAnswer(
                    streaming: [.contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no"]
                ) { writer in
                    defer { withExtendedLifetime(slot) {} }
                    try await stream.write(to: writer)
                }
            }
        ]
    }
}

extension RouteCall {
    /// The event filter in the query. A bound key always gets only its app's events.
    ///
    /// - Throws: 403 if a bound key names another app.
    fileprivate func eventFilter() throws(Problem) -> EventFilter {
        let app = try parameter("bundle_id", .bundleID)
        if let app, let principal, !principal.sees(app) { throw .appForbidden() }
        return EventFilter(
            app: principal?.app ?? app,
            activity: try parameter("activity_id", .activityID),
            device: try parameter("device_id", .deviceID),
            kinds: try eventKinds()
        )
    }

    /// One kind, or several separated by commas.
    private func eventKinds() throws(Problem) -> Set<Event.Kind>? {
        guard let words = query["kind"] else { return nil }
        var kinds: Set<Event.Kind> = []
        for word in words.split(separator: ",", omittingEmptySubsequences: false) {
            guard let kind = Event.Kind(known: String(word)) else {
                let known = Event.Kind.known.map { "'\($0)'" }.joined(separator: ", ")
                throw Problem.invalidRequest("The query parameter 'kind' takes, separated by commas: \(known).")
            }
            kinds.insert(kind)
        }
        return kinds
    }
}
