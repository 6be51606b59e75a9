package import APITypes
package import ActivityModel
package import Record

// The reads of the room below that the API needs.
extension Orchestrator {
    /// See ``Record/audit(_:_:only:)``.
    package func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry> {
        try await record.audit(filter, page, only: only)
    }

    /// See ``Record/events(matching:order:_:)``.
    package func events(
        matching filter: EventFilter,
        order: EventOrder = .oldestFirst,
        _ page: PageRequest
    ) async throws -> Page<EventResource> {
        try await record.events(matching: filter, order: order, page)
    }

    /// See ``Record/eventPlace(_:)``.
    package func eventPlace(_ text: String?) async throws -> EventCursor { try await record.eventPlace(text) }

    /// See ``Record/nextEvents(after:matching:within:)``.
    package func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage {
        try await record.nextEvents(after: place, matching: filter, within: patience)
    }

    /// See ``Record/timeline(_:_:device:user:_:activity:)``.
    package func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        user: UserID? = nil,
        _ page: PageRequest
    ) async throws -> TimelineAnswer {
        try await record.timeline(app, id, device: device, user: user, page) { try await activity(app, id) }
    }
}
