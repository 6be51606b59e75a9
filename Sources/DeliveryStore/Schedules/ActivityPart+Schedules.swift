package import Store

extension ActivityPart {
    /// The schedules of an activity, which go with it.
    package static let schedules = ActivityPart(table: "schedules", order: "p.due_at")
}
