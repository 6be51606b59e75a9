import APITypes
import ActivityModel

/// The search of the header: an activity, a phone or a user.
enum FindPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let text = visit.query["q"] ?? ""
        let app = try await visit.choice().id
        if text.isEmpty { return .redirect(Address("/console/activities", ["app": app])) }
        if text.contains("user:") || text.contains("token:") || text.contains("device:") {
            return .redirect(Address("/console/phones", ["app": app, "q": text]))
        }
        let isFilter = text.contains(":") && (text.contains("type:") || text.contains("state:"))
        if !isFilter, await visit.text("/v1/apps/\(app)/activities/\(text)") != nil {
            return .redirect(Address("/console/activity", ["app": app, "id": text]))
        }
        if !isFilter, await visit.text("/v1/apps/\(app)/devices/\(text)") != nil {
            return .redirect(Address("/console/phone", ["app": app, "id": text]))
        }
        let devices =
            isFilter ? nil : await visit.text(APIPath("/v1/apps/\(app)/devices").with(["user_id": text, "limit": "1"]))
        if let devices, devices.contains("\"device_id\"") {
            return .redirect(Address("/console/phones", ["app": app, "q": "user:" + text]))
        }
        return .redirect(Address("/console/activities", ["app": app, "q": text]))
    }
}
