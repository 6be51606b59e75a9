package import APITypes
package import ActivityModel

extension TallyClient {
    /// The schedules of an app, of all activities; in one state where that is asked for.
    package func schedules(
        _ app: BundleID,
        state: ScheduleState? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<ScheduleResource> {
        let filter: [(name: String, value: String?)] = [("state", state?.rawValue)]
        let call = APICall.get("/v1/apps/\(app)/schedules", query: filter + page.query)
        return try await answer(Page<ScheduleResource>.self, to: call)
    }

    /// One schedule.
    package func schedule(_ app: BundleID, _ id: String) async throws(ClientError) -> ScheduleResource {
        try await answer(ScheduleResource.self, to: .get("/v1/apps/\(app)/schedules/\(APICall.encoded(id))"))
    }

    /// Deletes a schedule that is pending, so that its change does not happen.
    package func cancelSchedule(_ app: BundleID, _ id: String) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/schedules/\(APICall.encoded(id))"))
    }

    /// Runs a schedule now instead of at its time; one that has run already is answered as it is.
    package func runSchedule(_ app: BundleID, _ id: String) async throws(ClientError) -> ScheduleResource {
        let call = APICall(method: "POST", path: "/v1/apps/\(app)/schedules/\(APICall.encoded(id))/run")
        return try await answer(ScheduleResource.self, to: call)
    }
}
