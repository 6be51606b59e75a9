package import APITypes
package import ActivityModel
package import Postgres
package import Store

/// What is stored of a card after a report, with the state of its activity.
package struct StoredCard: Sendable {
    package let key: CardKey
    /// Nil if the device has no card.
    package let mode: SubscriptionMode?
    /// As people read it (``SegmentRows/readState``).
    package let state: SubscriptionState?
    package let generation: Int64?
    /// The newest revision of the activity.
    package let revision: Revision
    package let activityState: ActivityState
    /// Whether it is to be sent something. A card that only has to join its ring is not.
    package let isOwed: Bool

    /// Reads a row of ``readingAndAnnouncing(_:)``.
    package init(_ row: Row) throws {
        key = try CardKey(row)
        mode = try (row["mode"] as String?).map(SubscriptionMode.stored)
        state = try (row["state"] as String?).map(SubscriptionState.stored)
        generation = try row["generation"]
        revision = try row["revision"]
        activityState = try .stored(row["activity_state"])
        isOwed = try row["is_owed"]
    }

    /// The statement that reads cards, for ``init(_:)``, and announces those that are due. It has no row for a card
    /// whose activity is deleted.
    package static func readingAndAnnouncing(_ cards: [CardKey]) -> Query {
        """
        WITH cards AS MATERIALIZED (
            SELECT a.activity_key, r.device_key, s.mode, \(unescaped: SegmentRows.readState) AS state, s.generation,
                   a.revision, a.state AS activity_state,
                   coalesce(
                       s.state = 'due' AND (s.leaving OR least(s.known_revision, s.confirmed_revision) < a.revision), false
                   ) AS is_owed
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            JOIN activities AS a USING (activity_key)
            LEFT JOIN subscriptions AS s ON s.activity_key = r.activity_key AND s.device_key = r.device_key
        ), announced AS (
            \(unescaped: SegmentRows.announcement(ofDueAmong: "cards"))
        )
        SELECT activity_key, device_key, mode::text, state::text, generation, revision, activity_state::text, is_owed FROM cards
        """
    }
}
