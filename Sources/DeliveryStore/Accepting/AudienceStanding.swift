import APITypes
package import ActivityModel
package import Postgres
import Store

/// An activity under the lock of a transaction that is about to change its audience.
package struct AudienceStanding {
    package let state: ActivityState
    /// The alert that starts bring instead of ``ActivityFacts/startAlert``; nil if no audience has come with one.
    package let startAlert: AlertContent?

    /// The statement that locks the activity and returns this row.
    package static func hold(_ activityKey: Int64) -> Query {
        "SELECT state::text, start_alert::text FROM activities WHERE activity_key = \(activityKey) FOR NO KEY UPDATE"
    }

    /// Reads the row of ``hold(_:)``.
    package init(_ row: Row) throws {
        state = try .stored(row["state"])
        let alert: String? = try row["start_alert"]
        startAlert = try alert.map(AlertContent.stored)
    }
}

/// The newest state of an activity, as a start carries it.
package struct NewestState {
    package let content: CompactJSON
    package let hints: CardHints

    /// The statement whose row this is. Run it behind the one that locks the activity: its snapshot is younger.
    package static func selection(_ activityKey: Int64) -> Query {
        """
        SELECT c.content_state, \(unescaped: CardHints.columns)
        FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
        WHERE a.activity_key = \(activityKey)
        """
    }

    /// Reads the row of ``selection(_:)``.
    package init(_ row: Row) throws {
        content = CompactJSON(stored: try row.decode(JSONText.self, at: 0).bytes)
        hints = try CardHints(in: row, from: 1)
    }
}
