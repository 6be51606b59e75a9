import JSON
package import ActivityModel
package import Store

extension Event {
    /// `appVersion` is empty for apps that do not say theirs.
    package static func incompatibleVersion(
        _ appVersion: String,
        _ schemaVersion: Int,
        activityKey: Int64,
        revision: Revision
    ) -> Event {
        var detail: JSONObject = [
            "schema_version": .number(JSONNumber(schemaVersion)), "revision": .number(JSONNumber(revision)),
        ]
        if !appVersion.isEmpty { detail["app_version"] = .string(appVersion) }
        return Event(.incompatibleVersion, of: .activity(key: activityKey), detail)
    }
}
