import APITypes
package import ActivityModel
import JSON
package import Postgres
import Store

/// An activity under the lock of a transaction that is about to change it, with its newest change and one of its rings.
/// An activity has a row for each of its rings, or one without a ring.
package struct StandingRow {
    /// A ring, or the channel, as it was read under the lock.
    package struct Segment: Sendable {
        package let number: Int16
        /// Nil while it has work.
        package let rest: RestingSegment?

        /// ``SegmentProgress/wakes`` of a ring that nobody rides; nil for any other segment.
        package var emptySince: Int64? { rest.flatMap { $0.isEmpty ? $0.wakes : nil } }
    }

    package let activityKey: Int64
    package let state: ActivityState
    /// The stamp of the newest revision; nil until it has one.
    package let timestamp: Timestamp?
    /// The database's time.
    package let now: PGTimestamp
    /// How far the ring has come.
    package let completed: Revision
    /// The ring, if there is one.
    package let segments: [Segment]
    private let revision: Revision
    private let stamp: Timestamp
    private let eventTime: PGTimestamp?
    private let content: JSONText
    private let barriers: Int64?
    private let alerts: [String]
    private let alert: String?
    private let laterStartAlert: String?

    /// The statement whose rows these are. A row for each ring costs the server half as much as building arrays.
    package static func selection(_ activityKeys: [Int64]) -> Query {
        """
        SELECT a.activity_key, a.state::text, a.revision, a.stamp, a.event_time, c.content_state, c.timestamp,
               clock_timestamp() AS now, g.segment, g.completed_revision, \(unescaped: RestingSegment.columns),
               CASE WHEN \(unescaped: ScheduledStart.isAwaited) THEN NULL WHEN \(unescaped: isBehind) THEN (
                   SELECT count(*) FROM changes AS b WHERE \(unescaped: openBarriers)
               ) ELSE 0 END AS barriers,
               CASE WHEN \(unescaped: isBehind) THEN (
                   SELECT array_agg(b.alert::text) FROM changes AS b
                   WHERE \(unescaped: openBarriers) AND b.alert IS NOT NULL
               ) END AS alerts,
               CASE WHEN \(unescaped: isBehind) THEN (
                   SELECT r.alert::text FROM changes AS r
                   WHERE r.activity_key = a.activity_key AND r.alert IS NOT NULL AND r.revision > g.completed_revision
                   ORDER BY r.revision DESC LIMIT 1
               ) END AS alert,
               a.start_alert::text
        FROM activities AS a
        JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
        LEFT JOIN segments AS g ON g.activity_key = a.activity_key
        \(unescaped: RestingSegment.tables)
        WHERE a.activity_key = ANY(\(activityKeys))
        """
    }

    /// An SQL condition: the ring `g` has not come to the newest change of the activity `a`. Most rings have, and then
    /// the server runs none of the selections that depend on it.
    private static let isBehind = "g.completed_revision < a.revision"

    /// An SQL condition: the change `b` is a barrier that is open on the ring `g`.
    private static let openBarriers =
        "b.activity_key = a.activity_key AND b.must_deliver AND b.revision > g.completed_revision"

    /// Reads a row of ``selection(_:)``.
    package init(_ row: Row) throws {
        activityKey = try row["activity_key"]
        state = try .stored(row["state"])
        revision = try row["revision"]
        stamp = try row["stamp"]
        eventTime = try row["event_time"]
        content = try row["content_state"]
        timestamp = try row["timestamp"]
        now = try row["now"]
        let segment: Int16? = try row["segment"]
        let completed: Revision? = try row["completed_revision"]
        self.completed = completed ?? revision
        segments = try segment.map { [Segment(number: $0, rest: try RestingSegment($0, row))] } ?? []
        barriers = try row["barriers"]
        let alerts: [String]? = try row["alerts"]
        self.alerts = alerts ?? []
        alert = try row["alert"]
        laterStartAlert = try row["start_alert"]
    }

    /// The standing that the next change is judged against.
    package var standing: ActivityStanding {
        get throws {
            ActivityStanding(
                revision: revision,
                lastTimestamp: stamp == 0 ? nil : stamp,
                contentState: try JSONValue.parse(content.bytes),
                eventTime: eventTime?.microseconds,
                openBarriers: barriers.map(Int.init)
            )
        }
    }

    /// The newest alert that some destinations of the ring may not have heard.
    package var ridingAlert: AlertContent? {
        get throws { try alert.map(AlertContent.stored) }
    }

    /// The alert that starts bring instead of ``ActivityFacts/startAlert``; nil if no audience has come with one.
    package var startAlert: AlertContent? {
        get throws { try laterStartAlert.map(AlertContent.stored) }
    }

    /// The alerts of the barriers that are open on the ring.
    package var barrierAlerts: [AlertContent] {
        get throws { try alerts.map(AlertContent.stored) }
    }
}
