import APITypes
import ActivityModel

/// The search of the header: an activity, a phone or a user.
enum FindPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let text = visit.query["q"] ?? ""
        let app = try await visit.choice().id
        if text.isEmpty { return .redirect(Address("/console/activities", ["app": app])) }
        // An id may look like a filter, so the exact id comes first.
        if await visit.text("/v1/apps/\(app)/activities/\(text)") != nil {
            return .redirect(Address("/console/activity", ["app": app, "id": text]))
        }
        if await visit.text("/v1/apps/\(app)/devices/\(text)") != nil {
            return .redirect(Address("/console/phone", ["app": app, "id": text]))
        }
        if ["user:", "token:", "device:"].contains(where: { text.hasPrefix($0) }) {
            return .redirect(Address("/console/phones", ["app": app, "q": text]))
        }
        let isFilter = text.split(separator: " ").contains { $0.hasPrefix("type:") || $0.hasPrefix("state:") }
        let devices =
            isFilter ? nil : await visit.text(APIPath("/v1/apps/\(app)/devices").with(["user_id": text, "limit": "1"]))
        if let devices, devices.contains("\"device_id\"") {
            return .redirect(Address("/console/phones", ["app": app, "q": "user:" + text]))
        }
        return .redirect(Address("/console/activities", ["app": app, "q": text]))
    }
}
