package import APITypes
import Store

extension Record {
    /// A page of events from the oldest on that is kept, or from the newest back. It may be short, or empty, and still
    /// not be the last: reading goes on as long as there is a cursor.
    ///
    /// - Throws: 422 for a cursor that is none.
    package func events(
        matching filter: EventFilter,
        order: EventOrder = .oldestFirst,
        _ page: PageRequest
    ) async throws -> Page<EventResource> {
        let found: EventPage
        switch order {
        case .oldestFirst:
            let place = try await eventPlace(page.cursor ?? EventCursor.oldest.description)
            found = try await events.page(after: place, matching: filter, limit: page.limit)
        case .newestFirst:
            let place = try await eventPlace(page.cursor)
            found = try await events.page(before: place, matching: filter, limit: page.limit)
        }
        return Page(
            items: found.events.map(\.resource),
            nextCursor: found.isLast ? nil : found.next.description
        )
    }

    /// Where a reader goes on that remembers `text`; nil: after everything that has happened by now.
    ///
    /// A place ahead of this database was given out before the database was restored from a backup. Its reader begins with
    /// the oldest event, and misses nothing.
    ///
    /// - Throws: 422 for text that is no place.
    package func eventPlace(_ text: String?) async throws -> EventCursor {
        guard let text else { return try await events.end() }
        guard let place = EventCursor(text) else { throw PageCursor.refused }
        return place > (try await events.end()) ? .oldest : place
    }

    /// Waits for events after a place. After `patience` the page may be empty. It then has only the place to go on from.
    package func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage {
        try await feed.page(after: place, matching: filter, limit: 100, until: .now + patience)
    }
}
