import JSON
import ActivityModel

extension Event.Kind {
    /// Apps of a version follow an activity and cannot decode its newest state, which is therefore withheld from them; said
    /// once for each version of the app until that changes.
    static let incompatibleVersion = Event.Kind("incompatible_version")
}

extension Event {
    /// `appVersion` is empty for apps that do not say theirs.
    static func incompatibleVersion(
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
