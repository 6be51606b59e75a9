import APITypes
import ActivityModel
import HTTPTypes
import Registry
import Store

extension Route {
    private static let one = "/v1/apps/{bundle_id}/activities/{activity_id}"

    /// `…/activities`: start, update, end, audience.
    static func changes(_ service: any TallyService, _ turns: ReadingTurns) -> [Route] {
        let intake = service.intake
        return [
            Route(.put, one, .scope(.publish), query: dryRun, body: true) { call in
                let app = try call.app()
                let activity = try call.activity()
                let request = try call.request(StartRequest.self)
                if try call.isDryRun() { return .ok(try await intake.dryRunStart(app, activity, request)) }
                let started = try await intake.start(app, activity, request, origin: call.origin)
                return started.isReplay ? .ok(started) : .accepted(started)
            },
            Route(.post, one + "/updates", .scope(.publish), query: dryRun, body: true) { call in
                let app = try call.app()
                let activity = try call.activity()
                let key = try call.idempotencyKey()
                let request = try call.request(UpdateRequest.self)
                if try call.isDryRun() { return .ok(try await intake.dryRunUpdate(app, activity, request)) }
                return .accepted(
                    try await intake.update(app, activity, request, idempotency: key, origin: call.origin)
                )
            },
            Route(.post, one + "/end", .scope(.publish), query: dryRun, body: true) { call in
                let app = try call.app()
                let activity = try call.activity()
                let key = try call.idempotencyKey()
                let request = try call.request(EndRequest.self)
                if try call.isDryRun() { return .ok(try await intake.dryRunEnd(app, activity, request)) }
                return .accepted(
                    try await intake.end(app, activity, request, idempotency: key, origin: call.origin)
                )
            },
            Route(.post, one + "/audience", .scope(.publish), body: true, lines: true) { call in
                let app = try call.app()
                let activity = try call.activity()
                let key = try call.idempotencyKey()
                if let incoming = call.streaming.incoming {
                    let list = AudienceStream(
                        service: service,
                        app: app,
                        activity: activity,
                        key: key,
                        principal: call.principal,
                        terms: call.streaming,
                        incoming: incoming,
                        turns: turns
                    )
                    return .accepted(try await list.add())
                }
                let request = try call.request(AudienceRequest.self)
                return .accepted(try await intake.changeAudience(app, activity, request, idempotency: key))
            },
        ]
    }

    /// `…/activities`: read routes.
    static func activities(_ record: any RecordService) -> [Route] {
        [
            Route(
                .get,
                "/v1/apps/{bundle_id}/activities",
                .scope(.read),
                query: paging.union(["type", "state", "device_id", "user_id", "id_contains"])
            ) { call in
                let type = try call.parameter("type", .typeName)
                let state = try call.word("state", ActivityState.self)
                let device = try call.parameter("device_id", .deviceID)
                let user = try call.parameter("user_id", .userID)
                let part = try call.parameter("id_contains", .activityID)?.rawValue
                return .ok(
                    try await record.activities(
                        call.app(),
                        type: type,
                        state: state,
                        device: device,
                        user: user,
                        containing: part,
                        call.page()
                    )
                )
            },
            Route(.get, one, .scope(.read)) { call in
                .ok(try await record.activity(call.app(), call.activity()))
            },
            Route(.get, one + "/audience", .scope(.read), query: paging) { call in
                .ok(try await record.audience(call.app(), call.activity(), call.page()))
            },
            Route(.get, one + "/timeline", .scope(.read), query: paging.union(["device_id", "user_id"])) { call in
                let device = try call.parameter("device_id", .deviceID)
                let user = try call.parameter("user_id", .userID)
                return .ok(
                    try await record.timeline(call.app(), call.activity(), device: device, user: user, call.page())
                )
            },
        ]
    }

    /// `…/subscriptions`: the cards of an activity, and the phones' reports about them.
    static func subscriptions(_ service: any TallyService) -> [Route] {
        let intake = service.intake
        let path = one + "/subscriptions/{device_id}"
        return [
            Route(.get, one + "/subscriptions", .scope(.read), query: paging.union(["state"])) { call in
                let state = try call.word("state", SubscriptionState.self)
                return .ok(
                    try await service.record.subscriptions(call.app(), call.activity(), state: state, call.page())
                )
            },
            Route(.put, path, .registration, body: true) { call in
                let app = try call.app()
                let activity = try call.activity()
                let device = try call.device()
                let request = try call.request(SubscriptionRequest.self)
                guard let ticket = call.principal?.ticket else {
                    return .ok(try await intake.subscribe(app, activity, device, request, by: nil))
                }
                let answer = try await intake.subscribe(app, activity, device, ticket.admit(request), by: ticket)
                return .ok(
                    RegistrationReceipt(
                        deviceID: device,
                        activityID: activity,
                        stale: answer.stale,
                        receiptSampling: intake.receiptSampling
                    )
                )
            },
            Route(.delete, path, .scope(.register)) { call in
                try await intake.unsubscribe(call.app(), call.activity(), call.device())
                return .noContent
            },
        ]
    }
}

extension Route {
    /// The query parameters of start, update and end.
    private static let dryRun: Set<String> = ["dry_run"]
}

extension RouteCall {
    /// Whether the caller asks for a preview without a change.
    fileprivate func isDryRun() throws(Problem) -> Bool { try flag("dry_run") }

    fileprivate func activity() throws(Problem) -> ActivityID { try segment("activity_id", .activityID) }
}
