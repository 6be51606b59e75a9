package import APITypes
package import ActivityModel

extension TallyClient {
    /// The schedules of all of an app's activities, optionally in one state.
    package func schedules(
        _ app: BundleID,
        state: ScheduleState? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<ScheduleResource> {
        let filter: [(name: String, value: String?)] = [("state", state?.rawValue)]
        return try await answer(to: .get("/v1/apps/\(app)/schedules", query: filter + page.query))
    }

    package func schedule(_ app: BundleID, _ id: String) async throws(ClientError) -> ScheduleResource {
        try await answer(to: .get("/v1/apps/\(app)/schedules/\(id)"))
    }

    /// Cancels a pending schedule.
    package func cancelSchedule(_ app: BundleID, _ id: String) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/schedules/\(id)"))
    }

    /// Runs a schedule now instead of at its time. One that has already run is returned unchanged.
    package func runSchedule(_ app: BundleID, _ id: String) async throws(ClientError) -> ScheduleResource {
        let call = APICall(method: "POST", path: "/v1/apps/\(app)/schedules/\(PercentEncoding.encode(id))/run")
        return try await answer(to: call)
    }
}
