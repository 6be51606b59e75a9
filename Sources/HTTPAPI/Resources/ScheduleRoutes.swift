import APITypes
import HTTPTypes

extension Route {
    /// `…/schedules`: scheduled changes.
    static func schedules(_ service: any TallyService) -> [Route] {
        [
            Route(.get, "/v1/apps/{bundle_id}/schedules", .scope(.read), query: paging.union(["state"])) { call in
                let state = try call.word("state", ScheduleState.self)
                return .ok(try await service.schedules(call.app(), state: state, call.page()))
            },
            Route(.get, "/v1/apps/{bundle_id}/schedules/{schedule_id}", .scope(.read)) { call in
                .ok(try await service.schedule(call.app(), call.uuid("schedule_id")))
            },
            Route(.delete, "/v1/apps/{bundle_id}/schedules/{schedule_id}", .scope(.operate)) { call in
                try await service.cancelSchedule(call.app(), call.uuid("schedule_id"))
                return .noContent
            },
            Route(.post, "/v1/apps/{bundle_id}/schedules/{schedule_id}/run", .scope(.operate)) { call in
                .ok(try await service.runSchedule(call.app(), call.uuid("schedule_id")))
            },
        ]
    }
}
