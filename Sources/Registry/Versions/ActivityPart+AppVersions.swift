package import Store

extension ActivityPart {
    /// The app versions in the audience of an activity, which go with it.
    package static let appVersions = ActivityPart(table: "activity_app_versions", order: "p.app_version")
}
