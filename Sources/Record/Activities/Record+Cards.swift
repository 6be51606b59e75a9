package import APITypes
package import ActivityModel
package import Postgres
import Store

extension Record {
    /// The cards of an activity in the order in which their devices were first registered: all, or those in one state.
    ///
    /// Goes through the activity's cards from the cursor on until the page is full, so a rare state of a large activity
    /// costs a look at all of them.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a cursor of another list.
    package func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState? = nil,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource> {
        let after = try page.position(in: .cards, Int64.self)
        let rows = try await database.query(
            """
            SELECT activity_key FROM activities
            WHERE bundle_id = \(app.rawValue) AND activity_id = \(activity.rawValue)
            """
        )
        guard let key = try rows.single(Int64.self) else { throw Problem.notFound("the activity") }
        let wanted = page.limit + 1
        var found: [KeyedCard] = []
        // Without a state every card counts, so one page is enough.
        let pages = KeyPages(database: database, size: state == nil ? wanted : store.settings.stretchSize)
        try await pages.read(after: after ?? 0, bound: KeyPages.boundOfCards(key)) { part in
            let list = Self.list(key, state, part, limit: wanted - found.count)
            found += try Self.subscriptions(await database.query(list))
            return found.count < wanted
        }
        return .cut(found, of: .cards, limit: page.limit, item: \.subscription) { [String($0.key)] }
    }

    private typealias KeyedCard = (key: Int64, subscription: SubscriptionResource)

    /// The columns of a card `s` of the activity `a` on the device `d`. The ring or the channel says what a riding card
    /// was sent.
    package static let cardColumns = """
        d.device_id, s.mode::text, \(SegmentRows.readState)::text, s.reason,
        \(SegmentRows.sentToCard),
        s.update_token, s.started_at, s.registered_at, s.due_at, nullif(s.shown_revision, 0), s.shown_at,
        s.pending_since
        """

    private static func list(
        _ activity: Int64,
        _ state: SubscriptionState?,
        _ part: KeyPages.Page,
        limit: Int
    ) -> Query {
        """
        SELECT s.device_key, \(unescaped: cardColumns)
        FROM subscriptions AS s JOIN devices AS d USING (device_key)
        JOIN activities AS a ON a.activity_key = \(activity)
        WHERE s.activity_key = \(activity) AND s.device_key > \(part.after) AND s.device_key <= \(part.through)
          AND (\(state?.storedWord)::text IS NULL
               OR \(unescaped: SegmentRows.readState)::text = \(state?.storedWord))
        ORDER BY s.device_key LIMIT \(limit)
        """
    }

    private static func subscriptions(_ rows: Rows) throws -> [KeyedCard] {
        try rows.map { row in (try row.decode(at: 0), try card(in: row, from: 1)) }
    }

    /// Reads ``cardColumns``, which begin at a column.
    package static func card(in row: Row, from first: Int) throws -> SubscriptionResource {
        SubscriptionResource(
            deviceID: DeviceID(stored: try row.decode(at: first)),
            mode: try .stored(row.decode(at: first + 1)),
            state: try .stored(row.decode(at: first + 2)),
            reason: try row.decode(at: first + 3),
            revision: try row.decode(Int64?.self, at: first + 4) ?? 0,
            updateToken: try row.decode([UInt8]?.self, at: first + 5).flatMap { PushToken(bytes: $0)?.description },
            startedAt: Instant(try row.decode(PGTimestamp.self, at: first + 6)),
            registeredAt: Instant(try row.decode(PGTimestamp.self, at: first + 7)),
            dueAt: try row.decode(PGTimestamp?.self, at: first + 8).map { Instant($0) },
            pendingSince: try row.decode(PGTimestamp?.self, at: first + 11).map { Instant($0) },
            shownRevision: try row.decode(at: first + 9),
            shownAt: try row.decode(PGTimestamp?.self, at: first + 10).map { Instant($0) }
        )
    }
}
