import APITypes
import ActivityModel

/// The search of the header: an activity, a phone or a user.
enum FindPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let app = try await visit.choice().id
        // An id may look like a filter, and may begin with a blank, so the exact id comes first.
        for id in words(visit) {
            if await visit.text("/v1/apps/\(app)/activities/\(id)") != nil {
                return .redirect(Address("/console/activity", ["app": app, "id": id]))
            }
            if await visit.text("/v1/apps/\(app)/devices/\(id)") != nil {
                return .redirect(Address("/console/phone", ["app": app, "id": id]))
            }
        }
        guard let text = visit.query["q"] else { return .redirect(Address("/console/activities", ["app": app])) }
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

    /// What a search may mean: its text as it was typed, then without the blanks around it.
    static func words(_ visit: Visit) -> [String] {
        guard let typed = visit.query.exact("q") else { return [] }
        return typed == typed.trimmed ? [typed] : [typed, typed.trimmed].filter { !$0.isEmpty }
    }
}
